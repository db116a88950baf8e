#!/usr/bin/env python3
"""Many resident sessions, each a real process, ended in every way: nothing may be left.

usage: soak.py [--sessions N] [--steps N]

For each combination of prelaunch and mode, and of a normal end, agents that fail, SIGINT and SIGKILL of the
server: a rollout whose resident groups are N sessions. At its peak all N agents live; at its end no process,
no folder, no permit and no request at the engine is left. Prints a line each; exits with 1 if something is left.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import verbatim

GROUP = 8
AGENT = """
# {marker}
say='{{"messages": [{{"role": "user", "content": "hi"}}]}}'
for turn in 1 2 3; do
    curl -sS --fail-with-body --max-time 300 "$OPENAI_BASE_URL/chat/completions" \\
        -H "Authorization: Bearer $OPENAI_API_KEY" -d "$say" -o "$VERBATIM_SESSION_IO_DIR/reply" || exit 1
    {after_turn}
done
echo '{{"reward": 1}}' > "$VERBATIM_OUTPUT_JSON"
"""
ENDS = {"done": "", "failing": '[[ $turn == 2 && $((RANDOM % 4)) == 0 ]] && exit 3', "interrupted": "", "killed": ""}


@dataclass(frozen=True)
class Case:
    """One rollout."""

    prelaunch: bool
    mode: str
    end: str

    def __str__(self) -> str:
        return f"{self.mode}, prelaunch {'on' if self.prelaunch else 'off'}, {self.end}"


def write(folder: pathlib.Path, case: Case, sessions: int) -> pathlib.Path:
    """The rollout's files."""
    agent = folder / "agent.sh"
    agent.write_text(AGENT.format(marker=folder, after_turn=ENDS[case.end]))
    (folder / "tasks.jsonl").write_text("{}\n" * 64)
    groups = sessions // GROUP
    file = folder / "rollout.toml"
    file.write_text(textwrap.dedent(f"""
        [engine]
        kind = "sim"
        sim_tokens = 20
        sim_token_us = 5000
        [dataset]
        path = "tasks.jsonl"
        [agent]
        command = "exec bash {agent}"
        concurrency = {sessions}
        grace_seconds = 2
        [sessions]
        turns = {max(sessions // 4, 4)}
        [rollout]
        group_size = {GROUP}
        batch = {max(groups // 2, 1)}
        over_sampling = {groups - max(groups // 2, 1)}
        resident = {groups}
        mode = "{case.mode}"
        prelaunch = {str(case.prelaunch).lower()}
        barrier_seconds = 240
        retries = 2
        [log]
        events = "events.jsonl"
    """))
    return file


def living(folder: pathlib.Path) -> int:
    """Processes whose command names the folder."""
    count = 0
    for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = line.read_bytes()
        except OSError:
            continue
        count += str(folder).encode() in command and b"soak.py" not in command
    return count


def folders(folder: pathlib.Path) -> int:
    """Agents' folders that are there."""
    return len([path for path in (folder / "tmp").iterdir() if path.name.startswith("verbatim-")])


def run(case: Case, sessions: int, steps: int) -> dict[str, Any]:
    """Runs a case: what was seen, and what was left."""
    with tempfile.TemporaryDirectory(prefix="verbatim-soak-") as name:
        folder = pathlib.Path(name)
        (folder / "tmp").mkdir()
        seen: dict[str, Any] = {"peak": 0, "steps": 0}
        with patch.dict(os.environ, TMPDIR=str(folder / "tmp")):
            rollout = verbatim.Rollout(write(folder, case, sessions))
        assert rollout.server is not None
        try:
            if case.end in ("interrupted", "killed"):
                rollout.open()
                # Every agent has made its first request: all of them run, and none is about to be started.
                watch(rollout, seen, lambda state: told(folder, "group_ready") >= sessions // GROUP)
            else:
                for step in range(1, steps + 1):
                    assert rollout.open() == step
                    watch(rollout, seen, lambda state: state["steps"][-1]["groups"] > 0)
                    assert len(list(rollout.take(step, 600))) > 0
                    seen["steps"] += 1
            if case.end in ("done", "failing"):
                rollout.drain()
                state = rollout.state()
                seen["left permits"] = state["running"] + state["waiting"] + state["agents"]
            else:
                sent = signal.SIGINT if case.end == "interrupted" else signal.SIGKILL
                rollout.server.signal(sent)
        finally:
            rollout.close()
        until = time.monotonic() + 30
        # Also where the server was killed: its agents' launchers end what they started, and delete its folders.
        while (living(folder) or folders(folder)) and time.monotonic() < until:
            time.sleep(0.05)
        seen["left processes"], seen["left folders"] = living(folder), folders(folder)
        events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
        kinds = [event["event"] for event in events]
        if case.end != "killed":
            seen["left sessions"] = kinds.count("session_opened") - kinds.count("session_closed")
            seen["left groups"] = kinds.count("group_started") - kinds.count("group_finished") - kinds.count("group_dropped")
        seen["turns"] = kinds.count("turn_committed")
        return seen


def told(folder: pathlib.Path, kind: str) -> int:
    """How many events of a kind there were."""
    return (folder / "events.jsonl").read_text().count(f'"event":"{kind}"')


def watch(rollout: verbatim.Rollout, seen: dict[str, Any], enough: Callable[[dict[str, Any]], bool]) -> None:
    """Looks until it is enough; notes how many agents lived at most."""
    until = time.monotonic() + 300
    while True:
        state = rollout.state()
        seen["peak"] = max(seen["peak"], state["agents"])
        if enough(state):
            return
        assert time.monotonic() < until, state
        time.sleep(0.02)


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--sessions", type=int, default=256)
    asked.add_argument("--steps", type=int, default=2)
    args = asked.parse_args()
    failed = 0
    for mode in ("sync", "partial"):
        for prelaunch in (False, True):
            for end in ENDS:
                since = time.monotonic()
                case = Case(prelaunch, mode, end)
                seen = run(case, args.sessions, args.steps)
                left = {what: count for what, count in seen.items() if what.startswith("left") and count}
                failed += bool(left) or seen["peak"] < args.sessions * 3 // 4
                print(f"{case}: {seen} in {time.monotonic() - since:.0f} s{' LEFT' if left else ''}", flush=True)
    print(f"{'nothing' if not failed else failed} left over by 16 rollouts of {args.sessions} sessions")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
