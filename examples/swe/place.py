"""Where an agent's commands run.

Invariant: nothing of a place outlives its `close`, and whoever left a place has its word that it is gone.

`SWE_SANDBOX` names a sandbox service; without it a place is a room of this machine.
"""
from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from typing import Protocol


class Place(Protocol):
    """A folder and a shell in it."""

    def put(self, files: Mapping[str, str]) -> None:
        """Writes files."""

    def take(self, name: str) -> str | None:
        """A file's text, or None if there is no such file."""

    def run(self, command: str, seconds: float) -> tuple[str, int]:
        """What a command says and its exit status. Raises TimeoutError, with what it said until then."""

    def close(self) -> None:
        """Ends what runs there and removes what lies there. Raises PlaceFailed if that is not certain."""


class PlaceFailed(Exception):
    """The place, not what ran in it, is at fault: the session failed, and has no reward."""


def open_place(name: str) -> Place:
    """A place under a name that no other place has."""
    url = os.environ.get("SWE_SANDBOX")
    if url:
        from sandbox import Sandbox

        return Sandbox(url, name)
    from room import Room

    return Room(pathlib.Path(os.environ.get("VERBATIM_SESSION_IO_DIR") or "/tmp"))
