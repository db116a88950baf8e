"""A `verbatim serve --rollout` that belongs to its trainer.

Invariant: the server ends with the object, and with the trainer's process.
"""
from __future__ import annotations

import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from verbatim.errors import VerbatimError

GRACE = 30.0
"""Seconds that a server has to end its agents."""


class ServerFailed(VerbatimError):
    """The server did not start; the end of its log is in the message."""


def binary() -> str:
    """The command: `VERBATIM_BIN`, else the one that the package brought, else what the path has."""
    beside = pathlib.Path(sys.executable).with_name("verbatim")
    found = os.environ.get("VERBATIM_BIN") or (str(beside) if beside.exists() else shutil.which("verbatim"))
    if found is None:
        raise ServerFailed("there is no command `verbatim`: install the wheel, or set VERBATIM_BIN")
    return found


class Server:
    """A server process on a free port of this machine."""

    def __init__(self, rollout: pathlib.Path, flags: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="verbatim-rollout-")
        folder = pathlib.Path(self._folder.name)
        self.key = secrets.token_hex(16)
        """The control key, which nobody else is told."""
        key_file = folder / "key"
        key_file.touch(mode=0o600)
        key_file.write_text(self.key, encoding="utf-8")
        self.log = folder / "server.log"
        """What the server logs; gone with the object."""
        command = [
            binary(), "serve", "--rollout", str(rollout), "--listen", "127.0.0.1:0",
            "--control-key-file", str(key_file), "--owned", *flags,
        ]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith("listening on "):
            self.stop()
            raise ServerFailed(f"{' '.join(command)} did not start:\n{self._said}")
        self.url = line.split()[2]

    def stop(self) -> int:
        """Asks the server to end, waits until its agents are gone, and gives its exit status."""
        self._process.terminate()
        try:
            status = self._process.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._said = self.tail()
        self._folder.cleanup()
        return status

    def tail(self, length: int = 4096) -> str:
        """The end of its log."""
        try:
            return self.log.read_bytes()[-length:].decode("utf-8", "replace")
        except OSError:
            return ""
