"""The openai SDK against the server: replies, streams, logprobs, limits, lineage."""
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rows import Row, from_jsonl
from server import Server, Session, request

QUESTION = [{"role": "user", "content": "Write one sentence about the sea."}]


@pytest.fixture
def session(embedded: Server) -> Session:
    return embedded.open()


def ask(session: Session, messages: list[Any] = QUESTION, **asked: Any) -> Any:
    asked = {"max_completion_tokens": 24, "temperature": 0.7, "seed": 3, **asked}
    with session.client() as client:
        return client.chat.completions.create(model="policy", messages=messages, **asked)


def stream(session: Session, **asked: Any) -> Iterator[Any]:
    """A streamed reply's chunks, each as it comes."""
    asked = {"max_completion_tokens": 24, "temperature": 0.7, "seed": 3, **asked}
    with session.client() as client:
        yield from client.chat.completions.create(model="policy", messages=QUESTION, stream=True, **asked)


def rows(session: Session) -> list[Row]:
    return from_jsonl(session.rows_file("jsonl"))


def test_a_reply_has_what_the_sdk_promises(session: Session) -> None:
    reply = ask(session)
    assert reply.object == "chat.completion" and reply.model == "policy"
    assert reply.choices[0].message.role == "assistant" and reply.choices[0].message.content
    assert reply.choices[0].finish_reason in ("stop", "length")
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    [row] = rows(session)
    assert (row.prompt_length, len(row.sampled())) == (reply.usage.prompt_tokens, reply.usage.completion_tokens)


def test_every_response_has_its_own_id(embedded: Server) -> None:
    assert len({ask(embedded.open()).id for _ in range(3)}) == 3


def test_a_stream_accumulates_to_the_whole_reply(embedded: Server) -> None:
    whole = ask(embedded.open())
    chunks = list(stream(embedded.open(), stream_options={"include_usage": True}))
    content = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert len(content) > 2
    assert "".join(content) == whole.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == whole.choices[0].finish_reason
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert len({chunk.id for chunk in chunks}) == 1


def test_without_include_usage_a_stream_has_no_usage_chunk(session: Session) -> None:
    chunks = list(stream(session))
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)


def test_a_stream_comes_while_the_model_samples(sim: Server) -> None:
    began = time.monotonic()
    arrived = []
    for chunk in stream(sim.open(), max_completion_tokens=200):
        if chunk.choices[0].delta.content:
            arrived.append(time.monotonic() - began)
    assert len(arrived) > 2
    assert arrived[0] < arrived[-1] / 2


def test_logprobs_are_those_of_the_rows(session: Session) -> None:
    reply = ask(session, logprobs=True, top_logprobs=3)
    entries = reply.choices[0].logprobs.content
    [row] = rows(session)
    assert [entry.logprob for entry in entries] == pytest.approx([v for v in row.logprobs if v is not None], abs=1e-6)
    for entry in entries:
        top = [alternative.logprob for alternative in entry.top_logprobs]
        assert len(top) == 3 and top == sorted(top, reverse=True)
        assert entry.logprob <= top[0] and bytes(entry.bytes).decode(errors="replace") == entry.token


def test_streamed_logprobs_are_whole(embedded: Server) -> None:
    whole = ask(embedded.open(), logprobs=True).choices[0].logprobs.content
    streamed = [
        entry
        for chunk in stream(embedded.open(), logprobs=True)
        if chunk.choices and chunk.choices[0].logprobs
        for entry in chunk.choices[0].logprobs.content
    ]
    assert [(entry.token, entry.logprob) for entry in streamed] == [(entry.token, entry.logprob) for entry in whole]


def test_greedy_takes_the_likeliest_token(session: Session) -> None:
    reply = ask(session, temperature=0, logprobs=True, top_logprobs=1)
    assert all(entry.token == entry.top_logprobs[0].token for entry in reply.choices[0].logprobs.content)


def test_a_stop_string_ends_the_text_before_it(embedded: Server) -> None:
    text = ask(embedded.open()).choices[0].message.content
    stop = text[8:12]
    session = embedded.open()
    stopped = ask(session, stop=[stop])
    assert stopped.choices[0].message.content == text[: text.index(stop)]
    assert stopped.choices[0].finish_reason == "stop"
    [row] = rows(session)
    assert len(row.sampled()) == stopped.usage.completion_tokens


def test_a_seed_repeats_a_reply(embedded: Server) -> None:
    def sampled(seed: int) -> tuple[Any, ...]:
        entries = ask(embedded.open(), temperature=1, seed=seed, logprobs=True).choices[0].logprobs.content
        return tuple((entry.token, entry.logprob) for entry in entries)

    assert sampled(11) == sampled(11)
    assert len({sampled(seed) for seed in (11, 12, 13)}) == 3


def test_max_completion_tokens_wins_over_max_tokens(embedded: Server) -> None:
    for limits in ({"max_tokens": 12, "max_completion_tokens": 3}, {"max_completion_tokens": 3, "max_tokens": 2}):
        reply = ask(embedded.open(), **limits)
        assert (reply.usage.completion_tokens, reply.choices[0].finish_reason) == (3, "length")
    with embedded.open().client() as client:
        reply = client.chat.completions.create(model="policy", messages=QUESTION, max_tokens=2)
    assert reply.usage.completion_tokens == 2


def test_turns_grow_one_line(session: Session) -> None:
    """Each turn's row begins with the whole row of the turn before, and nothing else grows: the
    prompt of a turn is what was there before it and what its message adds."""
    messages: list[Any] = []
    before: Row | None = None
    added = []
    for country in ("France", "Italy", "Spain"):
        messages.append({"role": "user", "content": f"What is the capital of {country}?"})
        reply = ask(session, messages, temperature=0, max_completion_tokens=300)
        assert reply.choices[0].finish_reason == "stop"
        messages.append({"role": "assistant", "content": reply.choices[0].message.content})
        [row] = rows(session)
        if before:
            assert row.tokens[: len(before.tokens)] == before.tokens
            assert row.loss_mask[: len(before.tokens)] == before.loss_mask
            assert row.logprobs[: len(before.tokens)] == before.logprobs
            added.append(reply.usage.prompt_tokens - len(before.tokens))
        assert reply.usage.prompt_tokens == row.turns[-1][0]
        before = row
    assert before and len(before.turns) == 3
    assert added[0] == added[1] > 0
    assert session.tree()["stored_tokens"] == len(before.tokens)


def test_a_repeated_request_is_another_turn_with_the_same_parent(session: Session) -> None:
    first, second = ask(session, seed=1), ask(session, seed=2)
    turns = session.turns()
    assert [turn["response"] for turn in turns] == [first.id, second.id]
    assert turns[0]["parent"] == turns[1]["parent"]


def test_the_key_alone_names_the_session_as_the_path_does(session: Session) -> None:
    body = {"model": "policy", "messages": QUESTION, "max_tokens": 3}
    assert request(f"{session.server}/sessions/{session.token}/v1/chat/completions", body).status == 200
    ask(session, max_completion_tokens=3)
    assert len(session.turns()) == 2


def test_a_closed_session_is_gone(embedded: Server) -> None:
    session = embedded.open()
    url = f"{session.server}/sessions/{session.token}"
    assert request(url, method="DELETE").status == 204
    assert request(url).status in (404, 410)


def test_models_lists_the_served_model(session: Session) -> None:
    with session.client() as client:
        assert [model.id for model in client.models.list()] == ["smollm2-135m-instruct"]


def test_a_plain_completion_is_the_sdks_whole_and_streamed(sim: Server) -> None:
    session = sim.open()
    asked: dict[str, Any] = {"model": "policy", "prompt": "Write of the sea.", "max_tokens": 12, "logprobs": 0}
    with session.client() as client:
        whole = client.completions.create(**asked)
        streamed = list(client.completions.create(**asked, stream=True))
    assert whole.object == "text_completion" and whole.usage.completion_tokens == 12
    assert len(whole.choices[0].logprobs.token_logprobs) == 12
    tokens = [token for chunk in streamed for token in chunk.choices[0].logprobs.tokens]
    assert len(tokens) == 12 and streamed[-1].choices[0].finish_reason == "length"
    assert sum(len(row.sampled()) for row in from_jsonl(session.rows_file("jsonl", pick="all"))) == 24


def test_a_reply_that_must_be_json_or_a_call_is(sim: Server) -> None:
    look = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
    tools = [{"type": "function", "function": {"name": "look", "parameters": look}}]
    session = sim.open()
    reply = ask(session, max_completion_tokens=400, response_format={"type": "json_object"})
    assert isinstance(json.loads(reply.choices[0].message.content), dict)
    reply = ask(session, max_completion_tokens=400, tools=tools, tool_choice="required")
    [call, *_] = reply.choices[0].message.tool_calls
    assert call.function.name == "look" and isinstance(json.loads(call.function.arguments)["place"], str)
    assert reply.usage.completion_tokens_details.reasoning_tokens >= 0
