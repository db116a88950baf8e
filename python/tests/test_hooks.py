"""The user's matcher, picker and post-processor, asked by a real server."""
import json
import pathlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from server import ROOT, Server, Session, request
from verbatim.codec import decode

PATHS = json.dumps([str(ROOT / "python/tests"), str(ROOT / "python")])


@contextmanager
def hooked(folder: pathlib.Path, *more: str) -> Iterator[Server]:
    flags = [f"plugins.python={sys.executable}", f"plugins.search_paths={PATHS}", "engine.sim_tokens=12", *more]
    server = Server(folder / "server.log", "--engine", "sim", *(part for flag in flags for part in ("--set", flag)))
    try:
        yield server
    finally:
        assert server.stop() == 0


def say(session: Session, *messages: dict[str, Any]) -> dict[str, Any]:
    reply = request(f"{session.server}/sessions/{session.token}/v1/chat/completions", {"messages": list(messages)})
    assert reply.status == 200, reply.body
    message: dict[str, Any] = reply.json()["choices"][0]["message"]
    return message


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def branched(server: Server) -> Session:
    """Two branches after one turn: one of two turns, one of three."""
    session = server.open()
    first = say(session, user("hi"))
    say(session, user("hi"), first, user("left"))
    right = say(session, user("hi"), first, user("right"))
    say(session, user("hi"), first, user("right"), right, user("on"))
    return session


def samples(session: Session, **asked: Any) -> Any:
    return request(f"{session.server}/sessions/{session.token}/samples", asked)


def test_a_matcher_by_its_path_decides_and_its_traceback_is_shown(tmp_path: pathlib.Path) -> None:
    with hooked(tmp_path, "sessions.matcher=hooked:caseless") as server:
        session = server.open()
        said = say(session, user("hi"))
        loud = {"role": "assistant", "content": said["content"].upper()}
        say(session, user("HI"), loud, user("on"))
        assert len(session.tree()["leaves"]) == 1
        failed = request(
            f"{session.server}/sessions/{session.token}/v1/chat/completions", {"messages": [user("boom")]}
        )
        assert failed.status == 500
        assert "boom indeed" in failed.json()["error"]["message"]
        assert len(session.turns()) == 2


def test_a_matcher_that_is_not_there_is_an_error_at_start_up(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RuntimeError, match="failed to resolve"):
        with hooked(tmp_path, "sessions.matcher=hooked:nowhere"):
            pass


def test_a_picker_chooses_leaves_and_ownership_follows_its_choice(tmp_path: pathlib.Path) -> None:
    with hooked(tmp_path, "plugins.picker=hooked.shortest") as server:
        session = branched(server)
        reply = samples(session)
        assert reply.status == 200, reply.body
        payload = decode(reply.body)
        assert [sample.metadata["leaf"]["path_node_ids"] for sample in payload.samples] == [[0, 1]]
        sampled = sum(turn["end"] - turn["start"] for turn in payload.samples[0].metadata["verbatim"]["turns"])
        assert sum(payload.samples[0].loss_mask) == sampled, "it owns all that it holds"


def test_a_picker_that_picks_twice_is_refused_by_name(tmp_path: pathlib.Path) -> None:
    with hooked(tmp_path, "plugins.picker=hooked.twice") as server:
        refused = samples(branched(server))
        assert refused.status == 422
        assert refused.json()["error"]["code"] == "hook_failed"
        assert "hooked.twice" in refused.json()["error"]["message"]


def test_a_post_processor_may_mask_and_reward_and_not_plant(tmp_path: pathlib.Path) -> None:
    with hooked(tmp_path, "plugins.postprocessor=hooked:halved") as server:
        session = branched(server)
        reply = samples(session, pick="keep_all")
        assert reply.status == 200, reply.body
        payload = decode(reply.body)
        assert len(payload.samples) == 2
        for sample in payload.samples:
            half = len(sample.loss_mask) // 2
            assert sum(sample.loss_mask[:half]) == 0 and sample.reward == 0.25
            assert sample.metadata["mine"] is True
            assert isinstance(sample.metadata["leaf"], dict)
        refused = samples(session, format="jsonl")
        assert (refused.status, refused.json()["error"]["param"]) == (400, "format")


def test_a_post_processor_cannot_make_observations_train(tmp_path: pathlib.Path) -> None:
    with hooked(tmp_path, "plugins.postprocessor=hooked:greedy") as server:
        refused = samples(branched(server))
        assert (refused.status, refused.json()["error"]["code"]) == (422, "hook_failed")
        assert "no engine sampled" in refused.json()["error"]["message"]
