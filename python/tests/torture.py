#!/usr/bin/env python3
"""Sessions and a rollout on a journal while their server is killed at random: nothing that was told may be lost.

usage: torture.py [--kills N] [--sessions N] [--seed N] [--level LEVEL] [--rollout]

Clients take turns, branch, send requests again, export and delete; a trainer takes a rollout's groups. Meanwhile the
server is killed with SIGKILL at random points and started again on its journal. Every request is sent again until it is
answered, as any client's would be. At the end: each reply that a client had is there, each session's rows equal those
of a server that nobody killed, what was deleted stays deleted, and no group was given again after it was acknowledged.
Prints what was done; exits with 1 if anything is missing.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from server import BINARY, Reply

ENGINE = ["--engine", "sim", "--set", "engine.sim_tokens=12", "--set", "engine.sim_token_us=2500"]
GROUPS, GROUP = 4, 2
"""Groups a step, and sessions a group."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Life:
    """A server that is killed and comes again, always at the same address."""

    def __init__(self, folder: pathlib.Path, *flags: str) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.flags = flags
        self.starts: list[float] = []
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        since = time.monotonic()
        command = [BINARY, "serve", "--listen", f"127.0.0.1:{self.port}", *ENGINE, *self.flags]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("listening on "), (self.folder / "server.log").read_text()[-4000:]
        self.starts.append(time.monotonic() - since)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ends it as an operator would."""
        assert self._process is not None
        self._process.terminate()
        assert self._process.wait(timeout=30) == 0

    def ask(self, path: str, body: Any = None, method: str | None = None, key: str | None = None) -> Reply:
        """Asks until it is answered: a server that is gone, or that says 503, is asked again."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"} | ({"Idempotency-Key": key} if key else {})
        until = time.monotonic() + 120
        while True:
            asked = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
            try:
                with urllib.request.urlopen(asked, timeout=60) as reply:
                    answer = Reply(reply.status, reply.read())
                    self.headers = reply.headers
                    return answer
            except urllib.error.HTTPError as refused:
                answer = Reply(refused.code, refused.read())
                if answer.status != 503 or b"journal_failed" in answer.body:
                    return answer
            except (OSError, HTTPException):
                pass
            assert time.monotonic() < until, f"no answer to {path}"
            time.sleep(0.02)


@dataclass
class Told:
    """What a client was told."""

    rows: dict[int, Any] = field(default_factory=dict)
    turns: int = 0
    branches: int = 0
    again: int = 0
    exports: int = 0
    deleted: int = 0
    problems: list[str] = field(default_factory=list)


def rows_of(life: Life, token: str) -> list[Any]:
    """A session's rows: who made each token, with its logprob and version."""
    reply = life.ask(f"/sessions/{token}/samples", {"format": "jsonl", "pick": "all", "audit": False})
    assert reply.status == 200, reply.body
    rows = [json.loads(line) for line in reply.body.splitlines()]
    kept = ("tokens", "loss_mask", "mask", "logprobs", "versions", "prompt_length", "status")
    return sorted((json.dumps({name: row.get(name) for name in kept}, sort_keys=True) for row in rows))


def session(life: Life, told: Told, seed: int, at: int) -> None:
    """One client's session: what it does follows from the seed, what it is told from the engine's."""
    draw = random.Random(f"{seed}/{at}")
    opened = life.ask("/sessions", {"lineage": "tree"})
    assert opened.status == 200, opened.body
    token = opened.json()["session_id"]
    path = f"/sessions/{token}"
    history: list[Any] = [{"role": "user", "content": f"task {at}"}]
    points = [list(history)]
    responses: set[str] = set()
    last: tuple[Any, str, Any] | None = None
    for step in range(draw.randint(4, 9)):
        kind = draw.choice(["turn", "turn", "turn", "branch", "again", "export"])
        if kind == "again" and last:
            body, key, before = last
            reply = life.ask(f"{path}/v1/chat/completions", body, key=key)
            if reply.status != 200 or reply.json()["id"] != before["id"] or reply.json()["choices"] != before["choices"]:
                told.problems.append(f"session {at}: a marked retry of {before['id']} got {reply.body[:300]!r}")
            told.again += 1
            continue
        if kind == "export":
            there = {node.get("response") for node in life.ask(f"{path}?records=false&audit=false").json()["nodes"]}
            told.problems += [f"session {at}: {missing} is gone" for missing in responses - there]
            rows_of(life, token)
            told.exports += 1
            continue
        if kind == "branch":
            history = list(draw.choice(points)) + [{"role": "user", "content": f"otherwise {step}"}]
            told.branches += 1
        body = {"model": "m", "messages": history, "max_tokens": 40}
        key = f"{at}-{step}" if draw.random() < 0.5 else None
        reply = life.ask(f"{path}/v1/chat/completions", body, key=key)
        if reply.status != 200:
            told.problems.append(f"session {at}: {reply.status} {reply.body[:300]!r}")
            return
        said = reply.json()
        responses.add(said["id"])
        told.turns += 1
        last = (body, key, said) if key else None
        history = [*history, said["choices"][0]["message"], {"role": "user", "content": f"and {step}"}]
        points.append(list(history))
    there = {node.get("response") for node in life.ask(f"{path}?records=false&audit=false").json()["nodes"]}
    told.problems += [f"session {at}: {missing} is gone" for missing in responses - there]
    told.rows[at] = rows_of(life, token)
    if draw.random() < 0.3:
        if (status := life.ask(path, method="DELETE").status) not in (204, 410):
            told.problems.append(f"session {at}: its deletion was answered with {status}")
        time.sleep(draw.random())
        if (status := life.ask(path).status) != 410:
            told.problems.append(f"session {at}: it was deleted, and is answered with {status}")
        told.deleted += 1


class Killer(threading.Thread):
    """Kills a server so often, and starts it again."""

    def __init__(self, life: Life, kills: int, seed: int, slowness: float = 1) -> None:
        super().__init__(daemon=True)
        self.life, self.kills, self.done, self.slowness = life, kills, 0, slowness
        self._draw = random.Random(f"kill {seed}")
        self.is_over = threading.Event()

    def run(self) -> None:
        while self.done < self.kills and not self.is_over.is_set():
            # Where starting takes long, so does whatever is to be interrupted.
            time.sleep(self._draw.uniform(0.02, 0.2 + self.slowness * self.life.starts[-1]))
            self.life.kill()
            self.done += 1
            self.life.start()
        self.is_over.set()


def sessions(folder: pathlib.Path, kills: int, count: int, seed: int, level: str) -> tuple[list[str], dict[str, Any]]:
    """Sessions on a server that is killed, and the same on one that is not."""
    journal = ["--journal", str(folder / "journal"), "--journal-level", level, "--set", "journal.segment_mib=1"]
    life = Life(folder, *journal)
    killer = Killer(life, kills, seed)
    told = Told()
    killer.start()
    at = 0
    # Waves of sessions until it was killed often enough; the last of them goes on after that.
    with ThreadPoolExecutor(16) as pool:
        while at == 0 or not killer.is_over.is_set():
            wave = range(at, at + count)
            list(pool.map(lambda nth: session(life, told, seed, nth), wave))
            at += count
    killer.join()
    life.stop()
    checked = subprocess.run([BINARY, "journal", "verify", str(folder / "journal")], capture_output=True, text=True)
    if checked.returncode != 0:
        told.problems.append(f"journal verify: {checked.stdout[-1000:]}{checked.stderr[-1000:]}")
    # Sessions that nobody deleted are there once more after an end that was asked for.
    other = Life(folder)
    expected = Told()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda nth: session(other, expected, seed, nth), sorted(told.rows)))
    other.stop()
    differing = [nth for nth, rows in told.rows.items() if rows != expected.rows.get(nth)]
    told.problems += [f"session {nth}: its rows are not those of a run without kills" for nth in differing]
    starts = sorted(life.starts)
    seen = {
        "kills": killer.done, "sessions": at, "turns": told.turns, "branches": told.branches,
        "sent again": told.again, "exports": told.exports, "deleted": told.deleted, "rows": sum(map(len, told.rows.values())),
        "start, median s": round(starts[len(starts) // 2], 3), "start, longest s": round(starts[-1], 3),
    }
    return told.problems, seen


def rollout_file(folder: pathlib.Path) -> pathlib.Path:
    """A rollout whose agents ask once, in the words of their task."""
    agent = folder / "agent.py"
    agent.write_text(
        "import json, os, urllib.request\n"
        "asked = json.load(open(os.environ['VERBATIM_INPUT_JSON']))\n"
        "body = json.dumps({'messages': asked['messages'], 'max_tokens': 40}).encode()\n"
        "request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body,\n"
        "    {'authorization': 'Bearer ' + os.environ['OPENAI_API_KEY'], 'content-type': 'application/json'})\n"
        "urllib.request.urlopen(request, timeout=60).read()\n"
        "json.dump({'reward': 1.0}, open(os.environ['VERBATIM_OUTPUT_JSON'], 'w'))\n"
    )
    tasks = "".join(json.dumps({"prompt": f"task {at}"}) + "\n" for at in range(2000))
    (folder / "tasks.jsonl").write_text(tasks)
    file = folder / "rollout.toml"
    file.write_text(f"""
        [dataset]
        path = "tasks.jsonl"
        input_key = "prompt"
        [agent]
        command = "exec {sys.executable} -S {agent}"
        concurrency = 8
        [rollout]
        sink = "pull"
        group_size = {GROUP}
        batch = {GROUPS}
        mode = "partial"
        retries = 2
    """)
    return file


def rollout(folder: pathlib.Path, kills: int, seed: int, level: str) -> tuple[list[str], dict[str, Any]]:
    """A trainer that takes a rollout's steps while its server is killed."""
    flags = ["--rollout", str(rollout_file(folder)), "--journal", str(folder / "journal"), "--journal-level", level]
    life = Life(folder, *flags)
    # A group needs agents, which need to start, too.
    killer = Killer(life, kills, seed, slowness=3)
    draw = random.Random(f"trainer {seed}")
    problems: list[str] = []
    acknowledged: dict[str, int] = {}
    tasks: dict[str, set[str]] = defaultdict(set)
    given = steps = 0
    killer.start()
    while not killer.is_over.is_set() or steps < 2:
        opened = life.ask("/rollout/steps", {})
        if opened.status == 201:
            step = opened.json()["step"]
        else:
            # The reply to its opening was lost.
            assert opened.status == 409, opened.body
            step = life.ask("/rollout").json()["steps"][-1]["step"]
        taken: set[str] = set()
        while True:
            reply = life.ask(f"/rollout/batches?step={step}&wait=2&lend=1&format=jsonl")
            if reply.status == 204:
                if life.ask(f"/rollout/steps/{step}").json()["state"] == "done":
                    break
                continue
            assert reply.status == 200, reply.body
            headers = life.headers
            group, batch = headers["x-verbatim-group"], int(headers["x-verbatim-batch"])
            given += 1
            if group in acknowledged:
                problems.append(f"{group} was acknowledged and is given again in step {step}")
            rows = [json.loads(line) for line in reply.body.splitlines()]
            if len(rows) != GROUP:
                problems.append(f"{group} has {len(rows)} rows")
            tasks[group].add(json.dumps([[row["tokens"], row["logprobs"]] for row in rows]))
            # A trainer that is killed between taking and acknowledging gets it again.
            if draw.random() < 0.2:
                continue
            if (status := life.ask(f"/rollout/batches/{batch}/ack", {}, "POST").status) != 204:
                problems.append(f"the acknowledgement of {group} was answered with {status}")
            acknowledged[group] = step
            taken.add(group)
        if len(taken) != GROUPS:
            problems.append(f"step {step} gave {len(taken)} groups and not {GROUPS}: {sorted(taken)}")
        steps += 1
    killer.join()
    life.stop()
    problems += [f"{group} was given as {len(rows)} different rows" for group, rows in tasks.items() if len(rows) > 1]
    numbers = {int(group.split(":")[1]) for group in acknowledged}
    # Groups that were under way when it was killed are run again: no task is passed over. The last may be under way.
    passed = set(range(max(numbers, default=0) - 4 * GROUPS)) - numbers
    problems += [f"tasks were passed over: {sorted(passed)}"] if passed else []
    seen = {"kills": killer.done, "steps": steps, "groups": len(acknowledged), "given": given}
    return problems, seen


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--kills", type=int, default=200)
    asked.add_argument("--sessions", type=int, default=32, help="sessions a wave")
    asked.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    asked.add_argument("--level", default="process")
    asked.add_argument("--rollout", action="store_true", help="a rollout and its trainer, not sessions")
    args = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="torture-") as name:
        folder = pathlib.Path(name)
        if args.rollout:
            problems, seen = rollout(folder, args.kills, args.seed, args.level)
        else:
            problems, seen = sessions(folder, args.kills, args.sessions, args.seed, args.level)
    print(f"seed {args.seed}: {', '.join(f'{what} {count}' for what, count in seen.items())}")
    for problem in problems[:50]:
        print(f"LOST: {problem}")
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
