"""What the server knows of each run.

Invariant: a run is made once however often it is asked for, ends once, and says the same of its end to whoever asks,
until it is forgotten `ttl` seconds after that. A task belongs to a group: its sessions, whenever they come, get the same.
"""
from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

TERMINAL = ("completed", "failed", "cancelled")


class Cancelled(Exception):
    """The run was told to end."""


@dataclass
class Record:
    group: str
    mode: str
    task: dict[str, Any]
    base_url: str
    api_key: str
    state: str = "queued"
    exit_code: int | None = None
    result: dict[str, Any] | None = None
    error: str | None = None
    ended: float | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    hang_up: Callable[[], None] | None = None
    """Breaks the request that the run waits for."""

    def view(self) -> dict[str, Any]:
        return {"state": self.state, "exit_code": self.exit_code, "result": self.result, "error": self.error}


class Records:
    def __init__(self, tasks: Sequence[dict[str, Any]], ttl: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._tasks, self._ttl, self._clock = tasks, ttl, clock
        self._records: dict[str, Record] = {}
        self._leases: dict[str, dict[str, Any]] = {}
        self._leased = 0
        self._lock = threading.Lock()

    def create(self, session: str, group: str, mode: str, base_url: str, api_key: str) -> tuple[Record, bool]:
        """The record of a session, and whether it is new."""
        with self._lock:
            self._forget()
            if session in self._records:
                return self._records[session], False
            if group not in self._leases:
                self._leases[group] = self._tasks[self._leased % len(self._tasks)]
                self._leased += 1
            record = Record(group, mode, self._leases[group], base_url, api_key)
            self._records[session] = record
            return record, True

    def get(self, session: str) -> Record | None:
        with self._lock:
            self._forget()
            return self._records.get(session)

    def begin(self, record: Record) -> bool:
        """Whether it may run: not if it was cancelled in the queue."""
        with self._lock:
            if record.state == "queued":
                record.state = "running"
            return record.state == "running"

    def end(self, record: Record, state: str, exit_code: int, **said: Any) -> None:
        """The first word about a run's end counts."""
        with self._lock:
            if record.state not in TERMINAL:
                record.state, record.exit_code, record.ended = state, exit_code, self._clock()
                record.result, record.error = said.get("result"), said.get("error")
                # Whoever finds the record later finds no key in it.
                record.api_key = ""

    def cancel(self, session: str) -> bool:
        """Tells a run to end; what waits in the queue ends at once. False if there is no such run."""
        record = self.get(session)
        if record is None:
            return False
        record.cancelled.set()
        with self._lock:
            queued, hang_up = record.state == "queued", record.hang_up
        if queued:
            self.end(record, "cancelled", 143)
        elif hang_up is not None:
            hang_up()
        return True

    def cancel_all(self) -> None:
        for session in list(self._records):
            self.cancel(session)

    def count(self, state: str, mode: str) -> int:
        with self._lock:
            return sum(record.state == state and record.mode == mode for record in self._records.values())

    def _forget(self) -> None:
        now = self._clock()
        old = [name for name, one in self._records.items() if one.ended is not None and now - one.ended > self._ttl]
        for name in old:
            del self._records[name]
        # A group whose records are all gone has no sessions to come: their barrier and retries are shorter than a TTL.
        held = {record.group for record in self._records.values()}
        self._leases = {group: task for group, task in self._leases.items() if group in held}
