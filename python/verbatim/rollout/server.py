"""A `verbatim serve --rollout` that belongs to its trainer.

Invariant: the server ends with the object, and with the trainer's process.
"""
from __future__ import annotations

import contextlib
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from verbatim.errors import VerbatimError

GRACE = 120.0
"""Seconds that a server has to end its agents, which may have a long grace themselves."""


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
    """A server process on a free port of this machine. It leaves no file behind, however its trainer ends."""

    def __init__(self, rollout: pathlib.Path, flags: Sequence[str]) -> None:
        self.key = secrets.token_hex(16)
        """The control key, which nobody else is told."""
        command = [binary(), "serve", "--rollout", str(rollout), "--listen", "127.0.0.1:0", "--owned", *flags]
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            print(self.key, file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line.startswith("listening on "):
            self._process.wait()
            said = self.tail()
            self.stop()
            raise ServerFailed(f"{' '.join(command)} did not start:\n{said}")
        self.url = line.split()[2]

    def signal(self, number: int) -> None:
        """Sends the server a signal."""
        self._process.send_signal(number)

    def stop(self) -> int:
        """Asks the server to end, waits until its agents are gone, and gives its exit status."""
        self._process.terminate()
        try:
            status = self._process.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._log):
            if file is not None:
                file.close()
        return status

    def tail(self, length: int = 4096) -> str:
        """The end of its log."""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), length, max(size - length, 0)).decode("utf-8", "replace")
