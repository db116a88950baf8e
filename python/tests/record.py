#!/usr/bin/env python3
"""Record multi-turn runs of real agents: their rows in each format, and what they sent.

usage: record.py FOLDER      one run of each agent on the embedded model, into FOLDER

FOLDER/NAME.jsonl, NAME.parquet, NAME.safetensors are the rows as the server gave them;
FOLDER/NAME.session.json holds the agent's exit status and each turn's request as it was on the wire.
"""
import json
import pathlib
import sys
import tempfile

from agent_runs import RUNS, Ended
from rows import FORMATS, from_jsonl
from server import Server, Session
from tap import Tap

SEEDS = range(8)


def record(server: Server, name: str, folder: pathlib.Path) -> tuple[Session, Ended]:
    """Runs an agent with one seed after another, until a row holds two turns, and writes what came
    of that run. The seed decides whether the small model goes on; every run is an ordinary one."""
    ended = Ended("not run")
    for seed in SEEDS:
        session = server.open()
        with tempfile.TemporaryDirectory() as place, Tap(server.url, session.token) as tap:
            ended = RUNS[name](Session(tap.url, session.token), pathlib.Path(place), seed)
        if any(len(row.turns) >= 2 for row in from_jsonl(session.rows_file("jsonl"))):
            break
    else:
        raise RuntimeError(f"{name} never came to a second turn; it last ended with {ended.status}")
    for extension in FORMATS:
        content = session.rows_file(extension, reward=1.0, metadata={"exit_status": ended.status})
        (folder / f"{name}.{extension}").write_bytes(content)
    kept = {"agent": name, "seed": seed, "exit_status": ended.status, "turns": tap.kept}
    (folder / f"{name}.session.json").write_text(json.dumps(kept, indent=1) + "\n")
    return session, ended


def main(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    server = Server(folder / "server.log")
    try:
        for name in RUNS:
            session, ended = record(server, name, folder)
            print(f"{name}: {len(session.turns())} turns, exit status {ended.status!r}")
    finally:
        server.stop()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
