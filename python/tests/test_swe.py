"""examples/swe: its agent against a scripted model, in a room of this machine and in a sandbox service."""
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

import sandbox_service
from server import BINARY, ROOT
from stub import Stub, stub

EXAMPLE = ROOT / "examples/swe"
sys.path.insert(0, str(EXAMPLE))

import agent
import place
import room
import sandbox

REPAIR = "sed -i 's/start < merged/start <= merged/' intervals.py && python -m pytest -q -p no:cacheprovider | tail -1"
SUBMIT = agent.SUBMIT
TASKS = [json.loads(line)["metadata"] for line in (EXAMPLE / "tasks.jsonl").read_text().splitlines()]


def rooms_can_be_made() -> bool:
    made = ["unshare", *room.OWN, "true"]
    return subprocess.run(made, capture_output=True, check=False).returncode == 0


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("VERBATIM_SESSION_IO_DIR", str(tmp_path))
    if not rooms_can_be_made():
        monkeypatch.setenv("SWE_ROOM", "open")


def reply(words: str | None, *calls: str, finish: str = "stop") -> tuple[int, Any]:
    function = [{"name": "bash", "arguments": json.dumps({"command": command})} for command in calls]
    tools = [{"id": f"c{at}", "type": "function", "function": one} for at, one in enumerate(function)]
    message = {"role": "assistant", "content": words, **({"tool_calls": tools} if tools else {})}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return 200, {"id": "r", "object": "chat.completion", "created": 0, "model": "policy", "choices": [choice],
                 "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}  # fmt: skip


def says(*commands: str) -> list[Any]:
    return [reply(f"Now.\n\n```mswea_bash_command\n{command}\n```") for command in commands]


def result(monkeypatch: pytest.MonkeyPatch, replies: list[Any], mode: str = "text", task: int = 0) -> tuple[dict[str, Any], Stub]:
    with stub(post_completions=replies) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        return agent.run(TASKS[task], "name", mode), model


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[sandbox_service.Service]:
    env = {"PATH": f"{sys.prefix}/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    with sandbox_service.serving(1, env) as serving:
        monkeypatch.setenv("SWE_SANDBOX", serving.url)
        yield serving


def test_a_submitted_repair_is_worth_one(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    told, model = result(monkeypatch, says("cat intervals.py", REPAIR, SUBMIT))
    said = told["metadata"]["tests_said"]
    assert told == {"reward": 1.0, "metadata": {"exit_status": "Submitted", "scored": True, "tests_said": said}}
    assert said.startswith("4 passed in")
    seen = [message["content"] for message in model.bodies["POST completions"]["messages"] if message["role"] == "user"]
    assert "start < merged" in seen[1] and "4 passed" in seen[2], seen
    assert list(tmp_path.iterdir()) == [], "both places are gone"


def test_a_model_that_calls_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [reply(None, "ls", REPAIR, finish="tool_calls"), reply("Done.", SUBMIT, finish="tool_calls")]
    told, model = result(monkeypatch, calls, mode="tools")
    assert told["reward"] == 1.0 and model.count("POST completions") == 2


CHEATS = {
    "nothing done": "true",
    "tests that say nothing": "echo > test_intervals.py",
    "tests that are skipped": "echo 'collect_ignore_glob = [\"*\"]' > conftest.py",
    "an end before the tests": "echo 'import os; os._exit(0)' > intervals.py",
    "the module is gone": "rm intervals.py",
    "the module is a link": "ln -sf /etc/hostname intervals.py",
}


@pytest.mark.parametrize("command", CHEATS.values(), ids=CHEATS.keys())
def test_what_is_no_repair_is_worth_nothing(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    told, _ = result(monkeypatch, says(command, SUBMIT))
    assert told["reward"] == 0.0 and told["metadata"]["exit_status"] == "Submitted"


def test_only_what_was_submitted_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    told, _ = result(monkeypatch, [*says(REPAIR), reply("I am done.")])
    assert (told["reward"], told["metadata"]["scored"]) == (0.0, False)
    assert told["metadata"]["exit_status"] == "RepeatedFormatError" and "tests_said" not in told["metadata"]
    told, model = result(monkeypatch, says("true"))
    assert told["metadata"]["exit_status"] == "LimitsExceeded" and model.count("POST completions") == agent.STEPS


def test_a_turn_that_was_cut_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = reply(f"```mswea_bash_command\n{SUBMIT}\n```", finish="length")
    told, model = result(monkeypatch, [*says(REPAIR), cut])
    assert (told["reward"], told["metadata"]["exit_status"]) == (0.0, "Length") and model.count("POST completions") == 2


def test_a_context_that_is_full_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "This model's maximum context length is 10 tokens. However, you requested 11 tokens."
    full = (400, {"error": {"message": words, "type": "invalid_request_error", "code": "context_length_exceeded"}})
    told, _ = result(monkeypatch, [*says(REPAIR), full])
    assert told["metadata"]["exit_status"] == "ContextWindowExceeded"


def test_a_model_that_fails_is_no_reward(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    with pytest.raises(agent.litellm.exceptions.InternalServerError):
        result(monkeypatch, [(500, {"error": {"message": "broken"}})])
    assert list(tmp_path.iterdir()) == []


def test_a_room_shows_its_folder_and_no_more(tmp_path: pathlib.Path) -> None:
    if os.environ.get("SWE_ROOM") == "open":
        pytest.skip("this kernel makes no rooms")
    one = room.Room(tmp_path)
    one.put({"a.txt": "a"})
    said, status = one.run(f"cat a.txt; ls {ROOT}/examples; touch /usr/new; env; (setsid sleep 4321 &)", 20)
    assert said.startswith("als: cannot access") and "Read-only file system" in said and "OPENAI" not in said
    assert status == 0 and not living("sleep 4321"), "what was left behind ended with the command"
    with pytest.raises(TimeoutError, match="early"):
        one.run("echo early; (setsid sleep 4321 &); sleep 4321", 0.5)
    assert not living("sleep 4321")
    one.close()
    assert list(tmp_path.iterdir()) == []


def living(command: str) -> list[str]:
    lines = (read(file).replace(b"\0", b" ").decode() for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"))
    return [line for line in lines if command in line and "bash" not in line]


def read(file: pathlib.Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def until(holds: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.05)


def aborted(tmp_path: pathlib.Path, command: str) -> subprocess.Popen[bytes]:
    """The agent's process, told to end while a command of its model runs."""
    (tmp_path / "in").mkdir()
    task, out = tmp_path / "in/task.json", tmp_path / "out.json"
    task.write_text(json.dumps({"metadata": TASKS[0]}))
    with stub(post_completions=says(command)) as model:
        env = {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "key", "VERBATIM_SESSION_ID": "key",
               "VERBATIM_INPUT_JSON": str(task), "VERBATIM_OUTPUT_JSON": str(out)}  # fmt: skip
        process = subprocess.Popen([sys.executable, EXAMPLE / "agent.py"], env={**os.environ, **env})
        until(lambda: living(command))
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    assert not out.exists()
    return process


def test_an_abort_leaves_nothing(tmp_path: pathlib.Path) -> None:
    assert aborted(tmp_path, "sleep 8765").returncode == 143
    assert not living("sleep 8765")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in"]


def test_a_service_is_one_slot_a_session_even_if_replies_are_lost(
    monkeypatch: pytest.MonkeyPatch, service: sandbox_service.Service
) -> None:
    service.drops, service.flush_seconds = 3, 0.3
    told, _ = result(monkeypatch, says("cat intervals.py", REPAIR, SUBMIT))
    assert told["reward"] == 1.0
    assert (service.leased, service.most, service.slots) == (["name", "name-tests"], 1, {})
    assert service.drops == 0 and service.state("name-tests") == "free"


def test_an_abort_gives_its_slot_back(tmp_path: pathlib.Path, service: sandbox_service.Service) -> None:
    service.flush_seconds = 0.5
    assert aborted(tmp_path, "sleep 7654").returncode == 143
    [name] = service.leased
    assert not living("sleep 7654") and service.state(name) == "free", "it waited until the slot was clean"
    assert "key" not in name


def test_who_waits_for_a_slot_and_is_told_to_end_has_none(service: sandbox_service.Service, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = sandbox.Sandbox(service.url, "holder")
    monkeypatch.setattr(sandbox, "LEASE_SECONDS", 0.3)
    with pytest.raises(place.PlaceFailed, match=r"no slot was free for 0.3 s"):
        sandbox.Sandbox(service.url, "late")
    assert service.asked.count("DELETE /slots/late") == 1 and list(service.slots) == ["holder"]
    with pytest.raises(TimeoutError, match="early"):
        holder.run("echo early; sleep 100", 0.3)
    holder.close()


def test_a_service_that_is_gone_or_not_clean_is_no_reward(service: sandbox_service.Service, monkeypatch: pytest.MonkeyPatch) -> None:
    one = sandbox.Sandbox(service.url, "one")
    service.drops = sandbox.LOST
    with pytest.raises(place.PlaceFailed, match=r"failed 5 times"):
        one.run("true", 5)
    service.dirty = True
    with pytest.raises(place.PlaceFailed, match=r"is not clean: dirty"):
        one.close()
    with pytest.raises(place.PlaceFailed, match="dirty"):
        result(monkeypatch, says(REPAIR, SUBMIT))


def test_verbatim_runs_it(tmp_path: pathlib.Path) -> None:
    """Random text is no command: every session ends unscored, as rows with a reward of 0."""
    settings = {
        "engine.kind": "sim", "engine.sim_tokens": 30, "family.name": "auto", "engine.model": "smollm2-135m-instruct",
        "engine.cache": os.environ.get("VERBATIM_CACHE", str(ROOT / ".cache")),
        "agent.setup": "true", "agent.command": f"{sys.executable} examples/swe/agent.py",
        "dataset.limit": 1, "rollout.output": str(tmp_path / "rows"), "log.events": str(tmp_path / "events.jsonl"),
    }  # fmt: skip
    sets = [f"--set={name}={json.dumps(value)}" for name, value in settings.items()]
    command = [BINARY, "run", str(EXAMPLE / "rollout.toml"), *sets]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for file in (tmp_path / "rows").glob("*.jsonl") for line in file.open()]
    assert rows and {row["reward"] for row in rows} == {0.0}
    assert {row["metadata"]["exit_status"] for row in rows} <= {"RepeatedFormatError", "Length"}
