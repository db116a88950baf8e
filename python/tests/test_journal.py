"""A server that is killed: what was told is there, in sessions, in a rollout, and for real clients."""
from __future__ import annotations

import json
import pathlib
import subprocess
import threading
import time

import openai
import pytest

import torture
from server import BINARY, Server, request


@pytest.mark.parametrize("level", ["process", "disk"])
def test_sessions_of_a_server_that_is_killed(tmp_path: pathlib.Path, level: str) -> None:
    problems, seen = torture.sessions(tmp_path, kills=6, count=12, seed=7, level=level)
    assert problems == [], seen
    assert seen["turns"] > 40 and seen["branches"] > 5 and seen["deleted"] > 0 and seen["sent again"] > 5, seen


def test_a_rollout_of_a_server_that_is_killed(tmp_path: pathlib.Path) -> None:
    problems, seen = torture.rollout(tmp_path, kills=4, seed=3, level="process")
    assert problems == [], seen
    assert seen["groups"] >= 8, seen


def test_an_sdk_does_not_notice(tmp_path: pathlib.Path) -> None:
    """OpenAI's client with its own retries and nothing else: its conversation goes on over three servers."""
    life = torture.Life(tmp_path, "--journal", str(tmp_path / "journal"))
    token = life.ask("/sessions", {}).json()["session_id"]
    client = openai.OpenAI(base_url=f"{life.url}/v1", api_key=token, max_retries=12)
    messages: list[dict[str, object]] = [{"role": "user", "content": "begin"}]
    killed = 0
    for turn in range(6):
        if turn in (2, 4):
            # In the middle of the turn.
            timer = threading.Timer(0.03, lambda: (life.kill(), life.start()))
            timer.start()
            killed += 1
        reply = client.chat.completions.create(model="m", messages=messages, max_tokens=40)  # type: ignore[arg-type]
        if turn in (2, 4):
            timer.join()
        said = reply.choices[0].message.model_dump(exclude_none=True)
        messages += [said, {"role": "user", "content": f"go on {turn}"}]
    rows = life.ask(f"/sessions/{token}/samples", {"format": "jsonl"})
    (row,) = [json.loads(line) for line in rows.body.splitlines()]
    assert len(row["turns"]) == 6 and killed == 2
    life.stop()


def test_one_folder_has_one_server_and_one_model(tmp_path: pathlib.Path) -> None:
    flags = ["--engine", "sim", "--journal", str(tmp_path / "journal")]
    server = Server(tmp_path / "log", *flags)
    session = server.open()
    session.client().chat.completions.create(
        model="m", messages=[{"role": "user", "content": "hi"}], max_tokens=8)
    with pytest.raises(RuntimeError, match="another server keeps its journal here"):
        Server(tmp_path / "other", *flags)
    assert server.stop() == 0
    # An end that was asked for is no end of the sessions.
    again = Server(tmp_path / "log", *flags)
    nodes = request(f"{again.url}/sessions/{session.token}").json()["nodes"]
    assert [node["kind"] for node in nodes] == ["observation", "generation"]
    assert again.stop() == 0
    with pytest.raises(RuntimeError, match="holds ids of the family"):
        Server(tmp_path / "other", *flags, "--family", "default")


def test_what_it_holds_can_be_looked_at(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "journal"
    server = Server(tmp_path / "log", "--engine", "sim", "--journal", str(folder))
    for _ in range(2):
        server.open().client().chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], max_tokens=8)

    def journal(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([BINARY, "journal", *command], capture_output=True, text=True, check=False)

    shown = journal("inspect", str(folder))
    assert shown.returncode == 0 and "2 sessions with 2 turns" in shown.stdout, shown
    report = json.loads(journal("verify", "--json", str(folder)).stdout)
    assert [session["turns"] for session in report["sessions"]] == [1, 1] and report["damages"] == []
    assert server.stop() == 0
    (segment,) = folder.glob("*.records")
    bytes_ = bytearray(segment.read_bytes())
    bytes_[200] ^= 1
    segment.write_bytes(bytes_)
    broken = journal("verify", str(folder))
    assert broken.returncode == 1 and f"damaged: {segment}, byte " in broken.stdout, broken


def test_a_run_that_is_killed_goes_on(tmp_path: pathlib.Path) -> None:
    file = torture.rollout_file(tmp_path)
    tasks = (tmp_path / "tasks.jsonl").read_text().splitlines()[:30]
    (tmp_path / "tasks.jsonl").write_text("\n".join(tasks) + "\n")
    rows, events = tmp_path / "rows", tmp_path / "events.jsonl"
    command = [BINARY, "run", str(file), "--engine", "sim", "--journal", str(tmp_path / "journal"), "--output", str(rows)]
    command += ["--set", 'rollout.sink="folder"', "--set", "engine.sim_token_us=5000", "--set", f'log.events="{events}"']

    def told(kind: str) -> list[str]:
        logged = [json.loads(line) for line in events.read_text().splitlines()] if events.exists() else []
        return [event["group"] for event in logged if event["event"] == kind]

    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while len(told("group_finished")) < 7 and time.monotonic() < until:
            time.sleep(0.02)
        process.kill()
    before = told("group_finished")
    assert 7 <= len(before) < 30
    written = {path.name: path.stat().st_mtime_ns for path in rows.glob("*.parquet")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "it goes on" in done.stderr
    assert sorted(path.name for path in rows.glob("*.parquet")) == sorted(f"train-{at}.parquet" for at in range(30))
    # Each group is told once as finished (one may have been killed before its word), and what was written and told before is not written again.
    assert len(told("group_finished")) == len(set(told("group_finished"))) >= 29
    for group in before:
        name = f"{group.replace(':', '-')}.parquet"
        assert (rows / name).stat().st_mtime_ns == written[name], name
    again = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert again.returncode == 0 and "nothing was left to do" in again.stderr, again.stderr
    other = subprocess.run([*command, "--set", "dataset.shuffle=1"], capture_output=True, text=True, timeout=120, check=False)
    assert other.returncode == 1 and "go on with the same dataset" in other.stderr, other.stderr
