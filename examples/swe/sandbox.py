"""A place in a sandbox service: a slot that is leased, asked after, and flushed.

Invariant: a slot that may have been leased is given back, and only as clean: `close` returns once the service has
said so, and fails by name if it does not.

The service's routes, all JSON. The caller names what it makes and repeating does no harm, so that a lost reply is
asked for again, and a lease whose reply never came can be given back:
  PUT    /slots/S                                  201, leased; 503 while none is free
  PUT    /slots/S/files {name: text}               204
  GET    /slots/S/files/NAME                       200 {"text"}; 404
  PUT    /slots/S/runs/R {"command", "seconds"}    202; the run begins
  GET    /slots/S/runs/R                           200 {"state": "running" | "done" | "late", "output", "status"}
  DELETE /slots/S                                  202; what runs is cancelled, the slot is flushed
  GET    /slots/S                                  200 {"state": "leased" | "flushing" | "free" | "dirty"}; of one never leased: free
"""
from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from place import PlaceFailed

POLL = 0.1
"""Seconds between two looks."""
LOST = 5
"""Requests in a row that may fail before the service counts as gone."""
LEASE_SECONDS, FLUSH_SECONDS = 300.0, 15.0
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Sandbox:
    """A leased slot; `name` is nobody else's."""

    def __init__(self, url: str, name: str) -> None:
        self._url, self._slot, self._runs = url.rstrip("/"), f"/slots/{quote(name, safe='')}", 0
        try:
            self._lease()
        except BaseException:
            self.close()
            raise

    def _lease(self) -> None:
        until = time.monotonic() + LEASE_SECONDS
        while True:
            status, reply = self._ask("PUT", self._slot, {})
            if status == 201:
                return
            if status != 503:
                raise PlaceFailed(f"the sandbox service refuses a slot: {status} {reply}")
            if time.monotonic() > until:
                raise PlaceFailed(f"no slot was free for {LEASE_SECONDS:g} s")
            time.sleep(POLL)

    def put(self, files: Mapping[str, str]) -> None:
        self._expect(204, "PUT", f"{self._slot}/files", dict(files))

    def take(self, name: str) -> str | None:
        status, reply = self._ask("GET", f"{self._slot}/files/{quote(name, safe='')}")
        return reply["text"] if status == 200 else None

    def run(self, command: str, seconds: float) -> tuple[str, int]:
        self._runs += 1
        run = f"{self._slot}/runs/{self._runs}"
        self._expect(202, "PUT", run, {"command": command, "seconds": seconds})
        # The service keeps the time; this only ends the wait for one that does not.
        until = time.monotonic() + seconds + FLUSH_SECONDS
        while time.monotonic() < until:
            seen = self._expect(200, "GET", run)
            if seen["state"] == "late":
                raise TimeoutError(seen["output"])
            if seen["state"] == "done":
                return seen["output"], seen["status"]
            time.sleep(POLL)
        raise PlaceFailed(f"{run} has not ended {FLUSH_SECONDS:g} s after its time")

    def close(self) -> None:
        self._expect(202, "DELETE", self._slot)
        until = time.monotonic() + FLUSH_SECONDS
        while (state := self._expect(200, "GET", self._slot)["state"]) != "free":
            if state == "dirty" or time.monotonic() > until:
                raise PlaceFailed(f"{self._slot} is not clean: {state}")
            time.sleep(POLL)

    def _expect(self, expected: int, method: str, path: str, body: Any = None) -> Any:
        status, reply = self._ask(method, path, body)
        if status != expected:
            raise PlaceFailed(f"{method} {path}: {status} {reply}")
        return reply

    def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self._url + path, data, {"content-type": "application/json"}, method=method)
        problem: Exception | None = None
        for attempt in range(LOST):
            time.sleep(attempt * POLL)
            try:
                with OPENER.open(asked, timeout=30) as reply:
                    return reply.status, json.loads(reply.read() or b"null")
            except urllib.error.HTTPError as refused:
                with refused:
                    return refused.code, refused.read().decode("utf-8", "replace")
            except (OSError, http.client.HTTPException) as lost:
                problem = lost
        raise PlaceFailed(f"{method} {path} failed {LOST} times: {problem}")
