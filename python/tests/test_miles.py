"""The driver for Miles: its contract with the trainer, the agent and the server."""
from __future__ import annotations

import argparse
import asyncio
import copy
import logging
import types
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy
import pytest

import driven
from server import Server, request
from stand_ins import MilesSample
from stub import Stub, stub
from verbatim.codec import Payload, Sample, SampleStatus, encode
from verbatim.errors import DriverError, Unauthorized
from verbatim.miles import abort, abort_surplus, agentic_generate
from verbatim.miles.request import request_kwargs

ABORTED = MilesSample.Status.ABORTED
PROMPT = [{"role": "user", "content": "Write about the sea."}]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("VERBATIM_URL", raising=False)
    driven.SEEN.clear()
    driven.HOOKED.clear()
    yield


def arguments(url: str, agent: str = "two_turns", **more: Any) -> types.SimpleNamespace:
    parts = urlsplit(url)
    named: dict[str, Any] = {
        "session_server_ip": parts.hostname,
        "session_server_ports": [parts.port],
        "session_server_instance_ids": {parts.port: "instance"},
        "custom_agent_function_path": f"driven.{agent}",
        "max_seq_len": None,
        "use_session_server": True,
    }
    return types.SimpleNamespace(**{**named, **more})


def sample(**more: Any) -> MilesSample:
    return MilesSample(**{"prompt": PROMPT, "index": 4, "label": "l", "metadata": {"task": "sea"}, **more})


def generate(args: Any, given: MilesSample, **params: Any) -> Any:
    return asyncio.run(agentic_generate(args, given, {"max_new_tokens": 400, "temperature": 0.5, **params}))


def session_is_gone() -> bool:
    return request(driven.SEEN[-1]["base_url"]).status in (404, 410)


def test_two_turns_of_a_line_are_one_sample(swift: Server) -> None:
    given = sample()
    before = copy.deepcopy(given)
    made = generate(arguments(swift.url, max_seq_len=4096), given)
    assert given == before, "the input is not touched"
    assert isinstance(made, MilesSample) and made.status is MilesSample.Status.COMPLETED
    assert len(made.tokens) > made.response_length == len(made.loss_mask or []) == len(made.rollout_log_probs or [])
    assert set(made.loss_mask or []) == {0, 1}, "two turns, and what stands between them"
    assert (made.index, made.label, made.prompt, made.rollout_id) == (4, "l", PROMPT, None)
    assert made.metadata["task"] == "sea" and made.metadata["reward"] == 0.25 and made.reward is None
    assert "leaf" not in made.metadata or made.metadata["leaf"] != "planted"
    assert made.metadata.get("tito_session_mismatch") != "planted"
    assert made.non_generation_time == 1.5
    assert made.prefix_cache_info.total_prompt_tokens > 0
    [seen] = driven.SEEN
    assert seen["prompt"] == PROMPT and seen["request_kwargs"] == {"max_tokens": 400, "temperature": 0.5}
    told = {"task": "sea", "max_seq_len": 4096, "session_server_instance_id": "instance"}
    assert seen["metadata"] == {**told, "session_server_id": urlsplit(swift.url).netloc}
    assert session_is_gone()


def test_a_tree_gives_a_sample_for_each_leaf(swift: Server) -> None:
    made = generate(arguments(swift.url, use_session_server="v2"), sample(metadata={"branch": True}))
    assert len(made) == 2
    assert [one.reward for one in made] == [0.25, 0.25] and {one.non_generation_time for one in made} == {1.5}
    assert {one.rollout_id for one in made} == {4}
    trained = [sum(one.loss_mask) for one in made]
    assert trained[0] != trained[1], "the turn that both share trains once"
    assert all(one.metadata.get("leaf") != "planted" for one in made)


def test_one_leaf_is_a_list_of_one_without_a_rollout_id(swift: Server) -> None:
    made = generate(arguments(swift.url, use_session_server="v2"), sample(index=None))
    assert [one.rollout_id for one in made] == [None]


def test_many_trajectories_at_once_keep_to_themselves(swift: Server) -> None:
    args = arguments(swift.url, use_session_server="v2")
    params = {"max_new_tokens": 400}

    async def run() -> list[Any]:
        given = [sample(index=at, metadata={"branch": at % 2 == 0}) for at in range(24)]
        return await asyncio.gather(*(agentic_generate(args, one, params) for one in given))

    made = asyncio.run(run())
    assert [len(group) for group in made] == [2, 1] * 12
    assert [{one.index for one in group} for group in made] == [{at} for at in range(24)]
    assert len({seen["base_url"] for seen in driven.SEEN}) == 24
    assert all(request(seen["base_url"]).status in (404, 410) for seen in driven.SEEN)


def test_an_agent_that_raises_is_logged_and_its_samples_kept(swift: Server, caplog: pytest.LogCaptureFixture) -> None:
    made = generate(arguments(swift.url, "raises_after_a_turn"), sample())
    assert made.status is MilesSample.Status.COMPLETED and made.response_length > 0
    assert made.metadata["agent_error"] == "LookupError: after two turns"
    assert "after two turns" in caplog.text and "Traceback" in caplog.text
    assert session_is_gone()


def test_an_agent_that_overruns_is_cancelled_and_its_samples_kept(swift: Server) -> None:
    made = generate(arguments(swift.url, "never_ends", verbatim_agent_seconds=3), sample())
    assert made.response_length > 0 and made.metadata["agent_error"] == "it used up its 3 s"
    assert session_is_gone()


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_an_agent_without_a_turn_is_an_aborted_copy(swift: Server, version: str) -> None:
    made = generate(arguments(swift.url, "does_nothing", use_session_server=version), sample())
    [one] = made if version == "v2" else [made]
    assert one.status is ABORTED and one.metadata == {"task": "sea", "abort_reason": "no_records"}
    assert session_is_gone()


def test_all_truncated_is_an_aborted_copy(swift: Server) -> None:
    made = generate(arguments(swift.url, max_seq_len=1), sample())
    assert made.status is ABORTED and made.metadata["abort_reason"] == "all_truncated"


def test_a_trajectory_that_the_driver_gives_up_leaves_no_session(swift: Server) -> None:
    async def run() -> None:
        task = asyncio.create_task(agentic_generate(arguments(swift.url, "never_ends"), sample(), {}))
        while not driven.SEEN:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert session_is_gone()


def sent(**more: Any) -> bytes:
    one = Sample(
        tokens=[1, 2, 3],
        response="r",
        response_length=2,
        status=SampleStatus.TRUNCATED,
        loss_mask=[1, 1],
        rollout_log_probs=[-1.0, -2.0],
        rollout_indexer_topk=numpy.zeros((2, 1, 1), numpy.int32),
        weight_versions=["7"],
        prefix_cache_info={"cached_tokens": 1, "total_prompt_tokens": 3},
        metadata={"leaf": {"node_id": 0}, "task": "server", "tito_session_mismatch": []},
        extra={"spec_info": {"spec_verify_ct": 5, "unheard_of": 1}},
    )
    for name, value in more.items():
        setattr(one, name, value)
    return encode(Payload([one], {"tree": "t", "reward": "session's"}))


def replying(content: bytes) -> Any:
    return stub(post_samples=[(200, content)])


def generated(server: Stub, agent: str = "plain_function", **more: Any) -> Any:
    given = more.pop("given", None) or sample()
    return generate(arguments(server.url, agent, **more), given)


def test_the_servers_values_win_where_the_contract_says_so() -> None:
    with replying(sent(reward=0.75)) as server:
        made = generated(server, given=sample(metadata={"task": "sea", "mine": 1}))
        assert server.bodies["POST sessions"] == {"lineage": "linear"}
        assert server.bodies["POST samples"] == {}, "the agent's metadata is told to a tree only"
    assert made.metadata == {
        **{"task": "server", "mine": 1, "leaf": {"node_id": 0}, "tito_session_mismatch": []},
        **{"reward": "session's", "tree": "t"},
    }
    assert made.reward == 0.75 and made.status is MilesSample.Status.TRUNCATED
    assert made.weight_versions == ["7"] and made.spec_info == MilesSample.SpecInfo(spec_verify_ct=5)
    assert made.prefix_cache_info == MilesSample.PrefixCacheInfo(1, 3)
    assert made.rollout_indexer_topk.shape == (2, 1, 1) and made.rollout_routed_experts is None


def test_speculation_is_taken_from_the_row() -> None:
    row = {"speculation": {"proposed": 9, "accepted": 6, "verified": 3}, "turns": [{"start": 1, "end": 3}]}
    with replying(sent(extra={}, metadata={"verbatim": row})) as server:
        assert generated(server).spec_info == MilesSample.SpecInfo(6, 9, 3, 2)
    with replying(sent(extra={}, metadata={})) as server:
        assert generated(server).spec_info == MilesSample.SpecInfo()


def test_a_tree_tells_the_server_what_the_agent_said() -> None:
    with replying(sent()) as server:
        [made] = generated(server, use_session_server="v2", max_seq_len=9)
        assert server.bodies["POST sessions"] == {"lineage": "tree"}
        assert server.bodies["POST samples"] == {"max_seq_len": 9, "metadata": {"reward": 1.0}}
    assert made.reward == 1.0 and made.metadata["task"] == "server"


@pytest.mark.parametrize("status", [404, 410])
def test_a_lost_session_is_asked_for_once(status: int) -> None:
    gone = [(status, {"error": f"session not found: {status}"})]
    with stub(post_samples=gone, delete_session=gone) as server:
        made = generated(server)
        assert (server.count("POST samples"), server.count("DELETE session")) == (1, 1)
    assert made.status is ABORTED and "the server lost the session" in made.metadata["abort_reason"]


@pytest.mark.parametrize("reply", ["cut", (503, {"error": "busy"})])
def test_samples_that_do_not_come_are_an_aborted_copy(reply: Any) -> None:
    with stub(post_samples=[reply]) as server:
        made = generated(server, use_session_server="v2")
        assert 1 < server.count("POST samples") <= 5 and server.count("DELETE session") == 1
    assert [one.status for one in made] == [ABORTED]
    assert "the samples could not be fetched" in made[0].metadata["abort_reason"]


@pytest.mark.parametrize("status", [422, 500])
def test_samples_that_are_refused_stop_the_run(status: int) -> None:
    with stub(post_samples=[(status, b"cursor 3 != 4")]) as server:
        with pytest.raises(RuntimeError, match=f"HTTP {status}.*cursor 3 != 4"):
            generated(server)
        assert (server.count("POST samples"), server.count("DELETE session")) == (1, 1)


def test_a_server_that_is_not_there_is_an_aborted_copy() -> None:
    made = generate(arguments("http://127.0.0.1:9"), sample())
    assert made.status is ABORTED and "no session could be opened" in made.metadata["abort_reason"]


def test_a_wrong_key_stops_the_run() -> None:
    with stub(post_sessions=[(401, {"error": {"message": "this needs the control key"}})]) as server:
        with pytest.raises(Unauthorized):
            generated(server)


def test_a_delete_that_fails_is_only_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    with stub(post_samples=[(200, sent())], delete_session=[(500, {"error": "no"})]) as server:
        assert generated(server).response_length == 2
    assert "could not be deleted" in caplog.text


@pytest.mark.parametrize(
    ("agent", "error"),
    [
        ("a_number", "it returned int"),
        ("no_json", "is not JSON"),
        ("quits", "the agent called exit(3)"),
        ("times_out", "TimeoutError: its own"),
    ],
)
def test_what_an_agent_may_not_do_is_no_result(agent: str, error: str) -> None:
    with replying(sent()) as server:
        [made] = generated(server, agent, use_session_server="v2")
        assert server.bodies["POST samples"] == {}
    assert error in made.metadata["agent_error"] and made.reward is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"custom_agent_function_path": None}, "there is no agent"),
        ({"custom_agent_function_path": "driven.absent"}, "has no 'absent'"),
        ({"session_server_ports": None}, "there is no session server"),
    ],
)
def test_a_wrong_set_up_is_named(change: dict[str, Any], message: str) -> None:
    with stub() as server, pytest.raises(AssertionError, match=message) as caught:
        generate(arguments(server.url, **change), sample())
    assert isinstance(caught.value, DriverError)


@pytest.mark.parametrize(
    "stale", [{"weight_versions": ["1"]}, {"teacher_log_probs": [0.1]}, {"metadata": {"opd_student_top_logprobs": 1}}]
)
def test_a_used_sample_is_refused(stale: dict[str, Any]) -> None:
    with stub() as server, pytest.raises(AssertionError, match="holds results already"):
        generate(arguments(server.url), sample(**stale))


def test_several_leaves_need_an_identity(swift: Server) -> None:
    given = sample(index=None, metadata={"branch": True})
    with pytest.raises(AssertionError, match="rollout_id or index"):
        generate(arguments(swift.url, use_session_server="v2"), given)


def test_the_url_may_be_named_instead(swift: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    named = arguments("http://127.0.0.1:9", "does_nothing", verbatim_url=swift.url + "/")
    assert generate(named, sample()).metadata["abort_reason"] == "no_records"
    monkeypatch.setenv("VERBATIM_URL", swift.url)
    other = types.SimpleNamespace(custom_agent_function_path="driven:does_nothing")
    assert generate(other, sample()).metadata["abort_reason"] == "no_records"


def test_sampling_parameters_are_told_in_the_words_of_chat() -> None:
    told = request_kwargs({
        **{"max_new_tokens": 9, "min_new_tokens": 2, "sampling_seed": 1, "seed": 5, "temperature": 0.0, "top_k": None},
        **{"model": "m", "messages": [], "no_stop_trim": True, "unheard_of": 1, "stop_token_ids": [7]},
    })
    expected = {"max_tokens": 9, "min_tokens": 2, "seed": 5, "temperature": 0.0, "no_stop_trim": True}
    assert told == {**expected, "stop_token_ids": [7]}


def test_miles_parser_gets_the_flags_that_it_lacks() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-seq-len", type=int, default=7)
    agentic_generate.add_arguments(parser)  # type: ignore[attr-defined]
    args = parser.parse_args(["--custom-agent-function-path", "a:b", "--verbatim-agent-seconds", "2.5"])
    assert (args.max_seq_len, args.custom_agent_function_path, args.verbatim_agent_seconds) == (7, "a:b", 2.5)


def test_the_hook_runs_once_and_after_the_engines_aborts(caplog: pytest.LogCaptureFixture) -> None:
    order: list[str] = []

    async def engine(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        order.append(f"{name} after {len(driven.HOOKED)}")
        if name == "broken":
            raise ConnectionError("gone")

    args = arguments("http://127.0.0.1:9")
    asyncio.run(abort_surplus(args, [engine("slow", 0.1), engine("fast", 0), engine("broken", 0.05)]))
    assert order == ["fast after 0", "broken after 0", "slow after 0"] and len(driven.HOOKED) == 1
    assert driven.HOOKED[0].session_server_instance_id == "instance"
    assert not hasattr(args, "session_server_instance_id"), "the driver's own arguments are not touched"
    assert "an engine's abort failed" in caplog.text


def test_a_hook_that_fails_or_is_not_there_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert asyncio.run(abort(arguments("http://127.0.0.1:9", fails=True))) is False
    assert "the hook failed" in caplog.text
    for path in (None, "json.loads", "no_such_module.agent"):
        named = arguments("http://127.0.0.1:9", custom_agent_function_path=path)
        assert asyncio.run(abort(named)) is False
