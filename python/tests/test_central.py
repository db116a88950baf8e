"""examples/central: thin clients that verbatim starts, and the one server that plays for all of them."""
from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

import verbatim
from server import BINARY, ROOT, request
from stub import stub

EXAMPLE = ROOT / "examples/central"
CLIENT = f"exec {sys.executable} {EXAMPLE}/client.py"


class Central:
    """The server's process."""

    def __init__(self, *flags: str) -> None:
        command = [sys.executable, EXAMPLE / "server.py", "--port", "0", *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]

    def begin(self, session: str, model: str, mode: str = "train", group: str = "g") -> int:
        body = {"session_id": session, "group_id": group, "mode": mode, "base_url": model, "api_key": "key"}
        return request(f"{self.url}/runs", body).status

    def run(self, session: str) -> dict[str, Any] | None:
        reply = request(f"{self.url}/runs/{session}")
        return reply.json() if reply.status == 200 else None

    def running(self) -> dict[str, int]:
        return request(f"{self.url}/health").json()["running"]

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(20) == 0, "threads that play are let go"


@pytest.fixture
def central() -> Iterator[Central]:
    started = Central("--train-threads", "3", "--eval-threads", "1", "--ttl", "2")
    yield started
    started.stop()


def until(holds: Any, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)


def says(words: str, finish: str = "stop") -> tuple[int, Any]:
    return 200, {"choices": [{"message": {"role": "assistant", "content": words}, "finish_reason": finish}]}


@pytest.mark.parametrize("purpose", ["train", "eval"])
def test_verbatim_runs_it(central: Central, tmp_path: pathlib.Path, purpose: str) -> None:
    settings = {
        "engine.kind": "sim", "engine.sim_tokens": 8, "engine.cache": os.environ.get("VERBATIM_CACHE", str(ROOT / ".cache")),
        "agent.setup": f"{sys.executable} {EXAMPLE}/client.py --health", "agent.command": CLIENT,
        "rollout.group_size": 3, "dataset.limit": 2,
        "rollout.purpose": purpose, "rollout.output": str(tmp_path / "rows"),
    }  # fmt: skip
    sets = [f"--set={name}={json.dumps(value)}" for name, value in settings.items()]
    command = [BINARY, "run", str(EXAMPLE / "rollout.toml"), *sets]
    env = {**os.environ, "AGENT_SERVER": central.url}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    groups = [[json.loads(line) for line in file.open()] for file in sorted((tmp_path / "rows").glob("*.jsonl"))]
    secrets = [{row["metadata"]["secret"] for row in rows} for rows in groups]
    assert len(groups) == 2 and all(len(one) == 1 for one in secrets) and secrets[0] != secrets[1], "a task a group"
    assert all(row["reward"] is not None and row["turns"] for rows in groups for row in rows)
    assert central.running() == {"train": 0, "eval": 0}


def test_modes_have_threads_of_their_own_and_an_end_is_told_again(central: Central) -> None:
    with stub(post_completions=[says("no number")]) as model:
        model.delay = 0.3
        for at in range(6):
            assert central.begin(f"train-{at}", f"{model.url}/v1") == 202
        assert central.begin("eval-0", f"{model.url}/v1", "eval") == 202
        until(lambda: central.running() == {"train": 3, "eval": 1})
        assert central.begin("train-0", f"{model.url}/v1") == 202, "asked for again, made once"
        until(lambda: all((run := central.run(f"train-{at}")) is None or run["exit_code"] == 0 for at in range(6)))
        until(lambda: (central.run("eval-0") or {}).get("exit_code") == 0)
        assert model.count("POST completions") == 7 * 5
        first, second = central.run("train-5"), central.run("train-5")
        assert first == second and first is not None and first["result"]["reward"] == 0.0
        time.sleep(2.1)
        assert central.run("train-5") is None, "forgotten after its time"
    assert central.begin("bad", "url", mode="neither") == 400


def client(central: Central, model: str, tmp_path: pathlib.Path, key: str = "key") -> subprocess.Popen[str]:
    env = {"AGENT_SERVER": central.url, "VERBATIM_SESSION_ID": key, "VERBATIM_API_KEY": key, "VERBATIM_GROUP_ID": "g",
           "VERBATIM_ROLLOUT_MODE": "train", "VERBATIM_BASE_URL": model, "VERBATIM_OUTPUT_JSON": str(tmp_path / "out.json")}  # fmt: skip
    return subprocess.Popen([sys.executable, EXAMPLE / "client.py"], env={**os.environ, **env}, stderr=subprocess.PIPE, text=True)


def test_a_client_ends_as_its_run_does(central: Central, tmp_path: pathlib.Path) -> None:
    # The first secret is 3.
    with stub(post_completions=[says("8"), says("it is 2."), says("3"), (500, {"error": "broken"})]) as model:
        good = client(central, f"{model.url}/v1", tmp_path, "one")
        assert good.wait(20) == 0
        written = json.loads((tmp_path / "out.json").read_text())
        assert written == {"reward": 0.6, "metadata": {"guesses": [8, 2, 3], "secret": 3}}
        said = [message["content"] for message in model.bodies["POST completions"]["messages"]]
        assert said[-4:] == ["8", "It is lower. Guess again.", "it is 2.", "It is higher. Guess again."]
        assert model.keys == {"Bearer one"}
        (tmp_path / "out.json").unlink()
        bad = client(central, f"{model.url}/v1", tmp_path, "two")
        assert bad.wait(20) == 1 and "500" in bad.communicate()[1]
        assert not (tmp_path / "out.json").exists()


def test_a_client_that_is_told_to_end_cancels_its_run(central: Central, tmp_path: pathlib.Path) -> None:
    with stub(post_completions=[says("7")]) as model:
        model.delay = 8.0
        started = client(central, f"{model.url}/v1", tmp_path)
        until(lambda: central.running()["train"] == 1)
        began = time.monotonic()
        started.send_signal(signal.SIGTERM)
        assert started.wait(20) == 143 and time.monotonic() - began < 5.0, "the turn was not waited for"
        assert central.running()["train"] == 0 and not (tmp_path / "out.json").exists()


def test_a_server_that_is_gone_fails_its_sessions(tmp_path: pathlib.Path) -> None:
    central = Central()
    with stub(post_completions=[says("7")]) as model:
        model.delay = 3.0
        started = client(central, f"{model.url}/v1", tmp_path)
        until(lambda: central.running()["train"] == 1)
        central.stop()
        assert started.wait(60) == 69 and "failed 10 times" in started.communicate()[1]
        assert not (tmp_path / "out.json").exists()


def test_a_rollout_that_closes_leaves_no_run_behind(central: Central, tmp_path: pathlib.Path) -> None:
    settings = {
        "engine.kind": "sim", "engine.sim_token_us": 2_000_000, "engine.cache": os.environ.get("VERBATIM_CACHE", str(ROOT / ".cache")),
        "agent.setup": "true", "agent.command": f"AGENT_SERVER={central.url} {CLIENT}", "rollout.group_size": 3,
    }  # fmt: skip
    with verbatim.Rollout(EXAMPLE / "rollout.toml", settings=settings) as rollout:
        assert rollout.open(1) == 1
        until(lambda: central.running()["train"] == 3)
    assert central.running()["train"] == 0
