"""Refusals: the SDK raises the right class, and the message names the field and the way out."""
from typing import Any

import openai
import pytest

from server import Server, Session, request

HELLO = {"role": "user", "content": "Hello."}


@pytest.fixture
def session(sim: Server) -> Session:
    return sim.open()


def refused(session: Session, **asked: Any) -> openai.BadRequestError:
    """The error that a chat request raises; nothing of it may be committed."""
    with session.client() as client, pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(**{"model": "policy", "messages": [HELLO], **asked})
    assert session.turns() == []
    assert raised.value.type == "invalid_request_error"
    return raised.value


def test_an_unknown_session(sim: Server) -> None:
    with Session(sim.url, "no-such-token").client() as client, pytest.raises(openai.NotFoundError) as raised:
        client.chat.completions.create(model="policy", messages=[HELLO])
    assert raised.value.code == "session_not_found"
    assert "POST /sessions" in raised.value.message


def test_a_request_without_a_key(sim: Server) -> None:
    reply = request(f"{sim.url}/v1/chat/completions", {"model": "policy", "messages": [HELLO]})
    assert reply.status in (401, 404)
    assert "session" in reply.json()["error"]["message"]


def test_a_body_that_is_no_json(session: Session) -> None:
    reply = request(f"{session.server}/sessions/{session.token}/v1/chat/completions", b'{"messages": [')
    assert reply.status == 400
    error = reply.json()["error"]
    assert error["param"] == "body" and "JSON" in error["message"]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"n": 2}, "n"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": "Hello."}]}, "messages[0].role"),
        ({"messages": [HELLO, {"role": "user", "content": None}]}, "messages[1].content"),
        ({"temperature": -1}, "temperature"),
        ({"top_p": 1.5}, "top_p"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"stop": [""]}, "stop"),
        ({"logit_bias": {"1": 5}}, "logit_bias"),
        ({"response_format": {"type": "yaml"}}, "response_format.type"),
        ({"tool_choice": "required"}, "tool_choice"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_field_that_cannot_be_served_is_named(session: Session, asked: dict[str, Any], field: str) -> None:
    error = refused(session, **asked)
    assert error.param == field
    assert field in error.message


def test_a_prompt_that_does_not_fit(embedded: Server) -> None:
    error = refused(embedded.open(), messages=[{"role": "user", "content": "word " * 9000}])
    assert error.code == "context_length_exceeded"
    assert error.param == "messages" and "8192" in error.message


def test_a_refused_stream_is_refused_before_it_begins(session: Session) -> None:
    assert refused(session, n=2, stream=True).param == "n"


def test_an_unknown_route_says_where_chat_is(sim: Server) -> None:
    reply = request(f"{sim.url}/v1/embeddings", {})
    assert reply.status == 404
    assert "/v1/chat/completions" in reply.json()["error"]["message"]


def test_samples_in_an_unknown_format(session: Session) -> None:
    reply = request(f"{session.server}/sessions/{session.token}/samples", {"format": "csv"})
    assert (reply.status, reply.json()["error"]["param"]) == (400, "format")
