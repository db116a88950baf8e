"""The client: sessions opened, sampled, closed; failures named, and tried again only where that may help."""
from __future__ import annotations

import asyncio
import pathlib
import pickle
import time
from collections.abc import Callable
from typing import Any

import openai
import pytest

from server import Server
from stub import stub
from verbatim.client import (
    ApiError,
    AsyncClient,
    Client,
    DeadlineExceeded,
    Deadlines,
    Retry,
    SamplesRefused,
    SessionGone,
    SessionNotFound,
    TransportFailed,
    Unauthorized,
)

ASK = {"model": "policy", "messages": [{"role": "user", "content": "hi"}]}
QUICK = Retry(attempts=3, first_pause=0.01)


def test_a_session_is_opened_sampled_and_gone_after_its_block(swift: Server) -> None:
    with Client(swift.url) as client:
        with client.create(lineage="linear", matcher="strict", group="g") as session:
            with openai.OpenAI(base_url=session.base_url, api_key=session.api_key, max_retries=0) as agent:
                reply = agent.chat.completions.create(**ASK)
            with openai.OpenAI(base_url=f"{session.url}/v1", api_key="none", max_retries=0) as agent:
                agent.models.list()
            payload = session.samples(reward=0.5, metadata={"mine": 1})
            [sample] = payload.samples
            assert sample.reward == 0.5 and sample.metadata["mine"] == 1
            assert sample.response_length == reply.usage.completion_tokens
            assert len(sample.tokens) == reply.usage.total_tokens
            assert session.tree()["lineage"] == "linear" and session.tree()["name"] == session.name
            assert session.samples_file("jsonl").startswith(b"{")
        assert session.delete() is False
        with pytest.raises((SessionNotFound, SessionGone)):
            session.samples()
        assert client.health()["status"] == "ok"


def test_the_same_asynchronously(swift: Server) -> None:
    async def run() -> None:
        async with AsyncClient(swift.url) as client:
            async with await client.create(lineage="tree") as session:
                async with openai.AsyncOpenAI(base_url=session.base_url, api_key=session.api_key) as agent:
                    reply = await agent.chat.completions.create(**ASK)
                payload = await session.samples(max_seq_len=reply.usage.prompt_tokens + 5)
                assert [sample.response_length for sample in payload.samples] == [5]
                assert (await session.samples(max_seq_len=1)).empty_reason == "all_truncated"
                assert (await session.tree())["lineage"] == "tree"
                assert await session.samples_file("jsonl")
            assert await session.delete() is False
            assert (await client.health())["status"] == "ok"

    asyncio.run(run())


def test_a_session_without_a_turn_says_why_it_is_empty(swift: Server) -> None:
    with Client(swift.url) as client, client.create() as session:
        payload = session.samples()
        assert payload.samples == [] and payload.empty_reason == "no_records"


def sync_samples(url: str, **options: Any) -> Any:
    with Client(url, retry=QUICK, **options) as client:
        return client.create().samples()


def async_samples(url: str, **options: Any) -> Any:
    async def run() -> Any:
        async with AsyncClient(url, retry=QUICK, **options) as client:
            return await (await client.create()).samples()

    return asyncio.run(run())


BOTH = pytest.mark.parametrize("samples", [sync_samples, async_samples])


@BOTH
@pytest.mark.parametrize(
    ("status", "expected", "tries"),
    [
        (404, SessionNotFound, 1),
        (410, SessionGone, 1),
        (401, Unauthorized, 1),
        (422, SamplesRefused, 1),
        (500, ApiError, 1),
        (503, ApiError, 3),
    ],
)
def test_only_what_may_change_is_tried_again(
    samples: Callable[..., Any], status: int, expected: type[ApiError], tries: int
) -> None:
    body = {"error": {"message": "the way out", "code": "some_code", "param": "p"}}
    with stub(post_samples=[(status, body)]) as server:
        with pytest.raises(expected) as caught:
            samples(server.url)
        assert type(caught.value) is expected
        assert (caught.value.status, caught.value.code, caught.value.param) == (status, "some_code", "p")
        assert "the way out" in str(caught.value)
        assert server.count("POST samples") == tries


@BOTH
def test_the_server_can_say_that_another_try_is_no_use(samples: Callable[..., Any]) -> None:
    with stub(post_samples=[(503, {"error": "no"}, {"x-should-retry": "false"})]) as server:
        with pytest.raises(ApiError):
            samples(server.url)
        assert server.count("POST samples") == 1


@BOTH
def test_a_broken_connection_is_tried_again_and_then_named(samples: Callable[..., Any]) -> None:
    with stub(post_samples=["cut"]) as server:
        with pytest.raises(TransportFailed, match=server.url):
            samples(server.url)
        assert server.count("POST samples") == 3
    with stub(post_samples=["cut", (422, {"error": {"message": "reached"}})]) as server:
        with pytest.raises(SamplesRefused, match="reached"):
            samples(server.url)


@BOTH
def test_an_operation_ends_at_its_deadline(samples: Callable[..., Any]) -> None:
    with stub() as server:
        server.delay = 1.5
        begun = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            samples(server.url, deadlines=Deadlines(create=0.3))
        assert time.monotonic() - begun < 1.2


def test_deleting_what_is_gone_asks_once() -> None:
    for status in (404, 410):
        with stub(delete_session=[(status, {"error": "gone"})]) as server, Client(server.url) as client:
            assert client.create().delete() is False
            assert server.count("DELETE session") == 1


def test_keys_and_urls_come_from_the_environment(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("0123456789abcdef\n")
    with stub() as server:
        monkeypatch.setenv("VERBATIM_URL", server.url + "/")
        monkeypatch.setenv("VERBATIM_CONTROL_KEY_FILE", str(file))
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        with Client() as client:
            client.create()
        assert server.keys == {"Bearer 0123456789abcdef"}
        with Client(key="another") as client:
            client.create()
        assert "Bearer another" in server.keys
    with pytest.raises(ValueError, match="no http URL"):
        Client("127.0.0.1:80")


def test_a_wrong_control_key_is_named(tmp_path: pathlib.Path) -> None:
    key = tmp_path / "key"
    key.write_text("0123456789abcdef")
    server = Server(tmp_path / "log", "--engine", "sim", "--control-key-file", str(key))
    try:
        with Client(server.url) as client, pytest.raises(Unauthorized):
            client.create()
        with Client(server.url, "0123456789abcdef") as client, client.create() as session:
            assert session.samples().empty_reason == "no_records"
    finally:
        server.stop()


def test_errors_travel_between_processes() -> None:
    error = SessionGone(410, "deleted", "session_gone", None, False)
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is SessionGone and str(back) == str(error)


def test_what_is_left_out_is_not_sent() -> None:
    with stub() as server, Client(server.url) as client:
        client.create(group="g")
        assert server.bodies["POST sessions"] == {"group": "g"}

