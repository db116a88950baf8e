"""The openai SDK's Responses against the server, replies and events validated as strictly as it can."""
from typing import Any

import openai
import pytest

from rows import from_jsonl
from server import Server, Session

QUESTION = "Write one sentence about the sea."
TOOLS: Any = [
    {
        "type": "function",
        "name": "bash",
        "description": "Run a shell command.",
        "strict": False,
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    }
]


@pytest.fixture
def session(embedded: Server) -> Session:
    return embedded.open()


def ask(session: Session, **asked: Any) -> Any:
    asked = {"input": QUESTION, "max_output_tokens": 24, "temperature": 0.7, "extra_body": {"seed": 3}, **asked}
    with session.strict() as client:
        return client.responses.create(model="policy", **asked)


def test_a_reply_has_what_the_sdk_promises(session: Session) -> None:
    reply = ask(session, instructions="Be brief.", tools=TOOLS, metadata={"a": "b"}, include=["reasoning.encrypted_content"])
    assert reply.object == "response" and reply.model == "policy" and reply.id.startswith("resp_")
    assert reply.output_text and reply.status in ("completed", "incomplete")
    assert (reply.instructions, reply.metadata, reply.max_output_tokens) == ("Be brief.", {"a": "b"}, 24)
    assert reply.usage.total_tokens == reply.usage.input_tokens + reply.usage.output_tokens
    [row] = from_jsonl(session.rows_file("jsonl"))
    assert (row.prompt_length, len(row.sampled())) == (reply.usage.input_tokens, reply.usage.output_tokens)


def test_every_id_is_its_own(embedded: Server) -> None:
    replies = [ask(embedded.open()) for _ in range(3)]
    ids = [item.id for reply in replies for item in [reply, *reply.output]]
    assert len(ids) == len(set(ids)) >= 6


def test_a_stream_is_the_whole_reply_in_valid_events(embedded: Server) -> None:
    whole = ask(embedded.open())
    with embedded.open().strict() as client:
        events = list(
            client.responses.create(
                model="policy", input=QUESTION, max_output_tokens=24, temperature=0.7, extra_body={"seed": 3}, stream=True
            )
        )
    assert [event.sequence_number for event in events] == list(range(len(events)))
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert len(deltas) > 2 and "".join(deltas) == whole.output_text
    last = events[-1]
    assert last.type in ("response.completed", "response.incomplete")
    assert last.response.output_text == whole.output_text and last.response.usage == whole.usage


def test_the_sdks_own_accumulator_takes_the_stream(session: Session) -> None:
    with session.strict() as client, client.responses.stream(
        model="policy", input="What is the capital of France?", max_output_tokens=300, temperature=0
    ) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert final.output_text == text


def line(session: Session, turns: int) -> None:
    """The turns are one line: one row holds them all."""
    assert len(session.turns()) == turns
    [row] = from_jsonl(session.rows_file("jsonl"))
    assert len(row.turns) == turns


def test_items_sent_back_whole_grow_one_line(session: Session) -> None:
    items: list[Any] = []
    for country in ("France", "Italy", "Spain"):
        items.append({"role": "user", "content": f"What is the capital of {country}?"})
        reply = ask(session, input=items, temperature=0, max_output_tokens=300)
        assert reply.status == "completed"
        items.extend(item.model_dump() for item in reply.output)
    line(session, 3)


def test_named_replies_grow_one_line(session: Session) -> None:
    before: str | None = None
    for country in ("France", "Italy", "Spain"):
        asked = {"previous_response_id": before} if before else {}
        text = f"What is the capital of {country}?"
        reply = ask(session, input=text, temperature=0, max_output_tokens=300, **asked)
        before = reply.id
    line(session, 3)
    with session.strict() as client:
        assert client.responses.retrieve(reply.id).output == reply.output


def test_a_refusal_names_the_field(session: Session) -> None:
    with pytest.raises(openai.BadRequestError, match="previous_response_id"):
        ask(session, previous_response_id="resp_1")
    with pytest.raises(openai.BadRequestError, match=r"input\[0\].content\[0\].image_url"):
        ask(session, input=[{"role": "user", "content": [{"type": "input_image", "image_url": "x", "detail": "auto"}]}])
    with pytest.raises(openai.NotFoundError), session.strict() as client:
        client.responses.retrieve("resp_1")


def test_a_model_is_found_by_its_name(session: Session) -> None:
    with session.strict() as client:
        [model] = client.models.list()
        assert client.models.retrieve(model.id).id == model.id
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("another")
