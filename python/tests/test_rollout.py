"""A trainer that drives `verbatim serve --rollout`: over the package, and over bare HTTP."""
from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import verbatim
from server import BINARY, request
from verbatim.client.blocking import Client
from verbatim.errors import ApiError, DeadlineExceeded, Unauthorized

AGENT = """
import json, os, time, urllib.request
body = {"messages": [{"role": "user", "content": "hi"}]}
for turn in range(TURNS):
    asked = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", data=json.dumps(body).encode(),
        headers={"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    reply = json.load(urllib.request.urlopen(asked, timeout=120))
    body["messages"] += [reply["choices"][0]["message"], {"role": "user", "content": f"and {turn}?"}]
task = json.load(open(os.environ["VERBATIM_INPUT_JSON"]))
with open(os.environ["VERBATIM_OUTPUT_JSON"], "w") as out:
    json.dump({"reward": float(os.getpid() % 2), "metadata": task["metadata"]}, out)
"""


def rollout_file(folder: pathlib.Path, *, tasks: int = 3, turns: int = 2, more: str = "", engine: str = "") -> pathlib.Path:
    """A rollout on the simulated engine: groups of two, steps of two."""
    agent = folder / "agent.py"
    agent.write_text(AGENT.replace("TURNS", str(turns)))
    lines = (json.dumps({"input": f"task {at}", "metadata": {"number": at}}) for at in range(tasks))
    (folder / "tasks.jsonl").write_text("".join(f"{line}\n" for line in lines))
    file = folder / "rollout.toml"
    file.write_text(textwrap.dedent(f"""
        [engine]
        kind = "sim"
        sim_tokens = 6
        {engine}
        [dataset]
        path = "tasks.jsonl"
        metadata_key = "metadata"
        [agent]
        command = "{sys.executable} {agent}"
        grace_seconds = 1
        concurrency = 6
        [rollout]
        group_size = 2
        batch = 2
        {more}
        [log]
        events = "events.jsonl"
    """))
    return file


def events(folder: pathlib.Path, kind: str) -> list[dict[str, Any]]:
    lines = (folder / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


@pytest.fixture
def rollout(tmp_path: pathlib.Path) -> Iterator[verbatim.Rollout]:
    with verbatim.Rollout(rollout_file(tmp_path)) as opened:
        yield opened


def test_a_trainer_takes_steps_and_new_weights_name_the_next_rows(
    rollout: verbatim.Rollout, tmp_path: pathlib.Path
) -> None:
    seen: list[set[str | None]] = []
    for number in (1, 2, 3):
        batch = rollout.step()
        assert batch is not None and batch.step == number
        assert len(batch.groups) == 2 and [group.is_last for group in batch.groups] == [False, True]
        for group in batch.groups:
            assert len(group.rows) == 2 and {row.group for row in group.rows} == {group.name}
            assert all(sum(row.loss_mask) > 0 and len(row.turns) == 2 for row in group.rows)
        seen.append({version for row in batch.rows for version in row.versions if version is not None})
        rollout.optimizer_step(batch.step, len(batch.rows), number, metrics={"loss": 0.5})
        with rollout.update(version=number):
            pass
        assert rollout.version() == str(number) and rollout.state()["trained"] == number
    assert seen[1] == {"1"} and seen[2] == {"2"}, seen
    # Three tasks, six groups: the dataset comes again, under names of its own.
    state = rollout.state()
    assert state["taken"] >= 6 and [step["state"] for step in state["steps"]] == ["done"] * 3
    names = [event["group"] for event in events(tmp_path, "group_started")]
    assert len(set(names)) == len(names) and names[:4] == ["train:0", "train:1", "train:2", "train:0:1"]
    [first, *_] = events(tmp_path, "optimizer_step")
    assert first == {"event": "optimizer_step", "step": 1, "rows": 4, "version": "1", "groups": [],
                     "metrics": {"loss": 0.5}}


def test_a_step_may_have_a_size_of_its_own(rollout: verbatim.Rollout) -> None:
    for size in (1, 3):
        batch = rollout.step(groups=size)
        assert batch is not None and len(batch.groups) == size and batch.groups[-1].is_last
    with pytest.raises(ApiError, match="0 of them make no step"):
        rollout.step(groups=0)


def test_rows_come_again_until_they_are_acknowledged(rollout: verbatim.Rollout) -> None:
    step = rollout.open(1)
    assert step == 1
    assert rollout.server is not None
    with Client(rollout.url, rollout.server.key) as client:
        from verbatim.client.wire import Call

        def take(wait: float, lend: float) -> Any:
            return client.exchange(Call("GET", f"/rollout/batches?wait={wait}&lend={lend}"), 60.0)

        first = take(60, 0.2)
        assert first.headers["x-verbatim-deliveries"] == "1"
        assert client.exchange(Call("GET", "/rollout/steps/1"), 30.0).body.count(b'"closed"') == 1
        again = take(60, 60)
        assert again.headers["x-verbatim-deliveries"] == "2" and again.body == first.body
        assert take(0.1, 60).status == 204, "someone holds it"
        ack = Call("POST", f"/rollout/batches/{again.headers['x-verbatim-batch']}/ack")
        assert client.exchange(ack, 30.0).status == 204
        assert client.exchange(ack, 30.0).status == 204, "saying it twice does no harm"
        assert json.loads(client.exchange(Call("GET", "/rollout/steps/1?wait=30"), 60.0).body)["state"] == "done"
        began = time.monotonic()
        assert client.exchange(Call("GET", "/rollout/batches?step=1&wait=50"), 60.0).status == 204
        assert time.monotonic() - began < 40.0, "a step that is done has nothing to wait for"
        with pytest.raises(ApiError, match="there was no batch 17"):
            client.exchange(Call("POST", "/rollout/batches/17/ack"), 30.0)


def test_what_cannot_be_is_refused_by_name(rollout: verbatim.Rollout) -> None:
    with pytest.raises(ApiError, match="there is no step 1 yet"):
        rollout.optimizer_step(1, 4, 1)
    step = rollout.open()
    with pytest.raises(ApiError, match="step 1 is not over") as refused:
        rollout.open()
    assert refused.value.status == 409
    with pytest.raises(Unauthorized):
        verbatim.Rollout(rollout.url, "not the key at all").state()
    assert step is not None and len(list(rollout.take(step))) == 2


def test_weights_that_do_not_come_leave_the_old_name(rollout: verbatim.Rollout) -> None:
    with rollout.update(version=1):
        pass
    with pytest.raises(RuntimeError, match="lost"), rollout.update(version=2):
        raise RuntimeError("the weights are lost")
    assert rollout.version() == "1"
    batch = rollout.step(groups=1)
    assert batch is not None


def test_a_drained_rollout_has_no_agents_and_no_step(rollout: verbatim.Rollout) -> None:
    assert rollout.open() == 1
    rollout.drain()
    state = rollout.state()
    assert state["over"] and state["agents"] == 0 and state["groups"].get("leased", 0) == 0
    assert rollout.open() is None


@pytest.mark.parametrize("mode", ["sync", "partial", "async"])
def test_each_mode_rolls_on_over_updates_that_cut_turns(tmp_path: pathlib.Path, mode: str) -> None:
    more = f'mode = "{mode}"\nbarrier_seconds = 20\nprelaunch = true\n' + ("staleness = 1" if mode == "async" else "over_sampling = 1")
    file = rollout_file(tmp_path, turns=3, more=more, engine="sim_token_us = 20000")
    with verbatim.Rollout(file) as rollout:
        for number in (1, 2, 3):
            batch = rollout.step()
            assert batch is not None and len(batch.groups) == 2
            for row in batch.rows:
                assert len(row.turns) == 3 and all(row.logprobs[at] is not None for turn in row.turns for at in range(turn.start, turn.end))
            with rollout.update(version=number):
                time.sleep(0.05)
        if mode == "async":
            with pytest.raises(ApiError, match="in mode async"):
                rollout.step(groups=1)
    started, ended = (Counter(e["group"] for e in events(tmp_path, kind)) for kind in ("agent_started", "agent_ended"))
    assert started == ended, "every agent that was started has ended"


def test_a_full_step_does_not_wait_for_more_rows(tmp_path: pathlib.Path) -> None:
    # In this mode a step closes only after what runs was aborted, when its last rows may have been taken already.
    file = rollout_file(tmp_path, turns=3, more='mode = "partial"\nover_sampling = 1', engine="sim_token_us = 20000")
    with verbatim.Rollout(file) as rollout:
        for _ in range(6):
            began = time.monotonic()
            assert rollout.step() is not None
            assert time.monotonic() - began < 0.75 * verbatim.rollout.driver.POLL


def test_a_step_that_waits_too_long_stays_open(tmp_path: pathlib.Path) -> None:
    file = rollout_file(tmp_path, engine="sim_token_us = 30000")
    with verbatim.Rollout(file) as rollout:
        with pytest.raises(DeadlineExceeded):
            rollout.step(timeout=0.05)
        assert len(list(rollout.take(1))) == 2


def test_a_server_ends_with_its_trainer(tmp_path: pathlib.Path) -> None:
    file = rollout_file(tmp_path, engine="sim_token_us = 2000000")
    code = f"""
import time, verbatim
rollout = verbatim.Rollout({str(file)!r})
rollout.open()
print(rollout.url, flush=True)
time.sleep(600)
"""
    path = os.pathsep.join(sys.path)
    trainer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path, "VERBATIM_BIN": BINARY})
    assert trainer.stdout is not None
    url = trainer.stdout.readline().strip()
    assert url
    until = time.monotonic() + 20
    while len(living(tmp_path)) < 4:
        assert time.monotonic() < until, "the agents do not start"
        time.sleep(0.02)
    trainer.send_signal(signal.SIGKILL)
    trainer.wait()
    while living(tmp_path):
        assert time.monotonic() < until + 20, f"left over: {living(tmp_path)}"
        time.sleep(0.05)
    with pytest.raises(OSError):
        request(f"{url}/health")


def living(folder: pathlib.Path) -> list[str]:
    """Processes that were started with a file of the folder."""
    found = []
    for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = line.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if str(folder / "agent.py") in command or str(folder / "rollout.toml") in command and "serve" in command:
            found.append(command)
    return found


def test_a_server_that_cannot_start_says_why(tmp_path: pathlib.Path) -> None:
    file = rollout_file(tmp_path, more='mode = "sometimes"')
    with pytest.raises(verbatim.rollout.ServerFailed, match='"sometimes" is none of sync, partial, async'):
        verbatim.Rollout(file)


def test_a_dataset_that_ends_closes_its_last_step_short(tmp_path: pathlib.Path) -> None:
    with verbatim.Rollout(rollout_file(tmp_path), settings={"dataset.epochs": 1}) as rollout:
        sizes = [(len(batch.groups), batch.groups[-1].is_last) for batch in iter(rollout.step, None) if batch]
    assert sizes == [(2, True), (1, False)], "three tasks, two a step"


def test_a_rollout_goes_on_where_another_one_stopped(tmp_path: pathlib.Path) -> None:
    order = {"dataset.shuffle": 7, "dataset.epochs": 2}

    def tasks(taken: int) -> list[str]:
        with verbatim.Rollout(rollout_file(tmp_path), settings={**order, "dataset.taken": taken}) as rollout:
            while rollout.step() is not None:
                pass
            assert rollout.state()["taken"] == 6
        (tmp_path / "events.jsonl").rename(tmp_path / f"{taken}.jsonl")
        lines = map(json.loads, (tmp_path / f"{taken}.jsonl").read_text().splitlines())
        return [line["group"] for line in lines if line["event"] == "group_started"]

    whole = tasks(0)
    assert len(whole) == 6 and tasks(4) == whole[4:]


def test_a_rollout_that_holds_finished_groups_ends_at_once(tmp_path: pathlib.Path) -> None:
    file = rollout_file(tmp_path, tasks=12, more='mode = "partial"\nover_sampling = 4\nbarrier_seconds = 60\nprelaunch = true')
    with verbatim.Rollout(file) as rollout:
        assert rollout.step() is not None
        until = time.monotonic() + 60
        while not rollout.state()["groups"].get("finalised"):
            if rollout.state()["steps"][-1]["state"] == "done":
                rollout.step()
            assert time.monotonic() < until, rollout.state()
        since = time.monotonic()
    assert time.monotonic() - since < 15, "nothing of it was to be waited for"
    [dropped, *_] = [event for event in events(tmp_path, "group_dropped") if event["cause"] == "interrupted"]
    assert dropped
