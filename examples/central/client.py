#!/usr/bin/env python3
"""The command that verbatim starts for each session: has the central server play, and waits for its word.

Invariant: a result is written only when the server says that the run is complete; the exit status is the run's. Told
to end, it cancels the run and waits until the server has let go of it.

Standard library only: it starts in a few hundredths of a second. `AGENT_SERVER` is where the server is; `--health`
only looks whether it is there.
"""
from __future__ import annotations

import hashlib
import json
import os
import pathlib
import signal
import sys
import time
import urllib.error
import urllib.request
from typing import Any

SERVER = os.environ.get("AGENT_SERVER", "http://127.0.0.1:8400")
POLL, LOST, CANCEL_SECONDS = 0.2, 10, 10.0
"""Seconds between looks; looks in a row that may fail; seconds that a cancelled run has to end."""
UNAVAILABLE = 69
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Told(Exception):
    """SIGTERM."""


def ask(path: str, body: Any = None) -> tuple[int, Any]:
    """A request that may be repeated: every route of the server's is such."""
    data = None if body is None else json.dumps(body).encode()
    for attempt in range(LOST):
        try:
            with OPENER.open(urllib.request.Request(SERVER + path, data), timeout=30) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as refused:
            return refused.code, None
        except OSError as error:
            problem = error
            time.sleep(min(POLL * attempt, 2.0))
    sys.exit(unavailable(f"{SERVER}{path} failed {LOST} times: {problem}"))


def unavailable(words: str) -> int:
    print(words, file=sys.stderr)
    return UNAVAILABLE


def wait(session: str, until: float = float("inf")) -> dict[str, Any] | None:
    """The run once it has ended; None if the server does not know it, or knows no end of it in time."""
    while time.monotonic() < until:
        status, run = ask(f"/runs/{session}")
        if status != 200:
            return None
        if run["exit_code"] is not None:
            return dict(run)
        time.sleep(POLL)
    return None


def main() -> int:
    if sys.argv[1:] == ["--health"]:
        return 0 if ask("/health")[0] == 200 else unavailable(f"there is no agent server at {SERVER}")
    # The server's name for the session; the key goes with the request and is in no path and no log.
    session = hashlib.sha256(os.environ["VERBATIM_SESSION_ID"].encode()).hexdigest()[:32]

    def on_term(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Told

    signal.signal(signal.SIGTERM, on_term)
    try:
        status, _ = ask("/runs", {
            "session_id": session, "group_id": os.environ["VERBATIM_GROUP_ID"],
            "mode": os.environ["VERBATIM_ROLLOUT_MODE"], "base_url": os.environ["VERBATIM_BASE_URL"],
            "api_key": os.environ["VERBATIM_API_KEY"],
        })  # fmt: skip
        if status != 202:
            return unavailable(f"the agent server refuses the run: {status}")
        run = wait(session)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    except Told:
        ask(f"/runs/{session}/cancel", {})
        wait(session, time.monotonic() + CANCEL_SECONDS)
        return 143
    if run is None:
        return unavailable("the agent server has forgotten the run: was it restarted?")
    if run["state"] == "completed":
        pathlib.Path(os.environ["VERBATIM_OUTPUT_JSON"]).write_text(json.dumps(run["result"]))
    elif run["error"]:
        print(run["error"], file=sys.stderr)
    return int(run["exit_code"])


if __name__ == "__main__":
    sys.exit(main())
