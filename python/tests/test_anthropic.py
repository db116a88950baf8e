"""The anthropic SDK against the server, replies and events validated as strictly as it can."""
from typing import Any

import anthropic
import pytest

from rows import from_jsonl
from server import Server, Session

QUESTION = [{"role": "user", "content": "Write one sentence about the sea."}]
TOOLS: Any = [
    {
        "name": "bash",
        "description": "Run a shell command.",
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    }
]


@pytest.fixture
def session(embedded: Server) -> Session:
    return embedded.open()


def body(temperature: float = 0.7, **asked: Any) -> dict[str, Any]:
    """The SDK has no words for temperature and seed any more; the API takes them."""
    more = {"temperature": temperature, "seed": 3}
    return {"model": "policy", "messages": QUESTION, "max_tokens": 24, "extra_body": more, **asked}


def ask(session: Session, **asked: Any) -> Any:
    with session.anthropic() as client:
        return client.messages.create(**body(**asked))


def test_a_reply_has_what_the_sdk_promises(session: Session) -> None:
    reply = ask(session, system="Be brief.", tools=TOOLS)
    assert (reply.type, reply.role, reply.model) == ("message", "assistant", "policy")
    assert reply.content[0].type == "text" and reply.content[0].text
    assert reply.stop_reason in ("end_turn", "max_tokens")
    [row] = from_jsonl(session.rows_file("jsonl"))
    read = reply.usage.input_tokens + reply.usage.cache_read_input_tokens
    assert (row.prompt_length, len(row.sampled())) == (read, reply.usage.output_tokens)


def test_every_message_has_its_own_id(embedded: Server) -> None:
    assert len({ask(embedded.open()).id for _ in range(3)}) == 3


def test_a_stream_is_the_whole_reply_in_valid_events(embedded: Server) -> None:
    whole = ask(embedded.open())
    with embedded.open().anthropic() as client:
        events = list(client.messages.create(**body(), stream=True))
    kinds = [event.type for event in events]
    assert kinds[0] == "message_start" and kinds[-2:] == ["message_delta", "message_stop"]
    deltas = [event.delta.text for event in events if event.type == "content_block_delta"]
    assert len(deltas) > 2 and "".join(deltas) == whole.content[0].text
    assert events[-2].usage.output_tokens == whole.usage.output_tokens


def test_the_sdks_own_accumulator_takes_the_stream(session: Session) -> None:
    with session.anthropic() as client, client.messages.stream(**body(temperature=0)) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert final.content[0].text == text and final.stop_reason in ("end_turn", "max_tokens")


def test_turns_grow_one_line_and_a_count_is_exact(session: Session) -> None:
    messages: list[Any] = []
    for country in ("France", "Italy", "Spain"):
        messages.append({"role": "user", "content": f"What is the capital of {country}?"})
        with session.anthropic() as client:
            counted = client.messages.count_tokens(model="policy", system="Be brief.", messages=messages)
        reply = ask(session, system="Be brief.", messages=messages, temperature=0, max_tokens=300)
        read = reply.usage.input_tokens + reply.usage.cache_read_input_tokens
        assert (reply.stop_reason, counted.input_tokens) == ("end_turn", read)
        messages.append({"role": "assistant", "content": reply.content})
    assert len(session.turns()) == 3
    [row] = from_jsonl(session.rows_file("jsonl"))
    assert len(row.turns) == 3


def test_a_stop_sequence_ends_the_text_before_it_and_is_named(embedded: Server) -> None:
    text = ask(embedded.open()).content[0].text
    stop = text[8:12]
    reply = ask(embedded.open(), stop_sequences=[stop])
    assert (reply.stop_reason, reply.stop_sequence) == ("stop_sequence", stop)
    assert reply.content[0].text == text[: text.index(stop)]


def test_either_header_opens_the_session_and_neither_is_an_error(session: Session) -> None:
    with anthropic.Anthropic(base_url=session.server, auth_token=session.token, max_retries=0) as client:
        assert client.messages.create(**body(max_tokens=3)).usage.output_tokens == 3
    with anthropic.Anthropic(base_url=session.server, api_key="nobody", max_retries=0) as client:
        with pytest.raises(anthropic.NotFoundError) as refused:
            client.messages.create(**body(max_tokens=3))
    assert refused.value.body["error"]["type"] == "not_found_error"  # type: ignore[index, call-overload]


def test_a_refusal_names_the_field(session: Session) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}}
    with pytest.raises(anthropic.BadRequestError, match=r"messages\[0\].content\[0\].source.data"):
        ask(session, messages=[{"role": "user", "content": [image]}])


def test_models_are_as_the_sdk_expects(session: Session) -> None:
    with session.anthropic() as client:
        [model] = client.models.list()
        assert client.models.retrieve(model.id) == model
        assert model.max_input_tokens


def test_one_session_takes_every_dialect_in_turn(session: Session) -> None:
    """A question in chat, the next in Responses, the next in Messages: one line of three turns."""
    said: list[Any] = []

    def add(question: str) -> None:
        said.append({"role": "user", "content": question})

    add("What is the capital of France?")
    with session.strict() as client:
        reply = client.chat.completions.create(model="policy", messages=said, temperature=0, max_tokens=300)
    said.append({"role": "assistant", "content": reply.choices[0].message.content})
    add("And of Italy?")
    with session.strict() as client:
        told = client.responses.create(model="policy", input=said, temperature=0, max_output_tokens=300)
    said.append({"role": "assistant", "content": told.output_text})
    add("And of Spain?")
    ask(session, messages=said, temperature=0, max_tokens=300)
    assert len(session.turns()) == 3
    [row] = from_jsonl(session.rows_file("jsonl"))
    assert len(row.turns) == 3
