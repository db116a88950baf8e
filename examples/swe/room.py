"""A room of this machine: its own processes, mounts and network.

Invariant: a command sees the system's programs and its own folder, cannot reach the network or change anything else,
and every process that it started ends with it, also if the agent is killed.

The room is made by util-linux's `unshare`, without privileges. Where a kernel or a container forbids that,
`SWE_ROOM=open` runs commands as they are: for machines that may be lost.
"""
from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import IO

from place import PlaceFailed

# A new root with nothing but what is shown, which is read-only; the old one is let go. $1 the root, $2 the folder,
# $3 where to say that all is well, $4 the command, then what is shown. One step a line: `set -e` looks at each.
MAKE = r"""
set -e
PATH=$PATH:/usr/sbin:/sbin
root=$1 folder=$2 made=$3 command=$4; shift 4
mount --make-rprivate /
mount -t tmpfs -o size=64m room "$root"
for shown; do
    mkdir -p "$root$shown"
    mount --bind "$shown" "$root$shown"
    mount -o remount,ro,bind "$root$shown"
done
cd "$root"
mkdir -p repo proc dev tmp old
mount --bind "$folder" repo
mount -t proc proc proc
for device in null zero urandom; do
    : >dev/$device
    mount --bind /dev/$device dev/$device
done
pivot_root . old
umount -l /old
rmdir /old
cd /repo
ulimit -t 30 -f 65536 -v 2000000 -c 0
echo made >&$made
eval "exec $made>&-"
exec bash -c "$command"
"""
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc")
OWN = ("--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child")
GONE = 5.0
"""Seconds that what was killed may take to be gone."""
LONGEST = 1 << 20
"""Bytes of a file that are taken."""


def shown() -> list[str]:
    """What a command may see: the system, and the Python that runs this with its packages."""
    paths = dict.fromkeys([*SYSTEM, sys.base_prefix, sys.prefix])
    inside = [path for path in paths if not any(path != other and path.startswith(f"{other}/") for other in paths)]
    return [path for path in inside if os.path.isdir(path)]


class Room:
    """A folder under `parent`, and rooms around it, one a command."""

    def __init__(self, parent: pathlib.Path) -> None:
        self._top = pathlib.Path(tempfile.mkdtemp(prefix="swe-", dir=parent))
        self.folder = self._top / "repo"
        self.folder.mkdir()
        (self._top / "root").mkdir()
        self._open = os.environ.get("SWE_ROOM") == "open"
        # Nothing of the agent's own environment: it holds the session's key.
        self._env = {"PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8",
                     "PYTHONDONTWRITEBYTECODE": "1", "PAGER": "cat"}  # fmt: skip

    def put(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (self.folder / name).write_text(text)

    def take(self, name: str) -> str | None:
        try:
            # A link would be followed outside the room.
            file = os.open(self.folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        with os.fdopen(file, "rb") as opened:
            try:
                return opened.read(LONGEST).decode("utf-8", "replace")
            except OSError:
                return None

    def run(self, command: str, seconds: float) -> tuple[str, int]:
        if self._open:
            return self._run(["bash", "-c", command], seconds)
        read, write = os.pipe()
        with os.fdopen(read, "rb") as made:
            with os.fdopen(write, "wb"):
                place = [str(self._top / "root"), str(self.folder), str(write)]
                room = ["setpriv", "--pdeathsig", "KILL", "unshare", *OWN, "bash", "-c", MAKE, "room"]
                done = self._run([*room, *place, command, *shown()], seconds, write)
            if made.read() != b"made\n":
                raise PlaceFailed(f"there is no room (SWE_ROOM=open does without): {done[0]}")
        return done

    def _run(self, asked: list[str], seconds: float, *kept: int) -> tuple[str, int]:
        with tempfile.TemporaryFile(dir=self._top) as said:
            # A file, not a pipe: a child that clings to it holds up nobody.
            process = subprocess.Popen(
                asked, cwd=self.folder, env=self._env, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True, pass_fds=kept,
            )  # fmt: skip
            try:
                status: int | None = process.wait(seconds)
            except subprocess.TimeoutExpired:
                status = None
                late = text(said)
            finally:
                end(process)
            if status is None:
                raise TimeoutError(late)
            return text(said), status

    def close(self) -> None:
        try:
            shutil.rmtree(self._top)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise PlaceFailed(f"{self._top} could not be removed: {error}") from error


def text(file: IO[bytes]) -> str:
    """What a file holds; its position is also the command's."""
    return os.pread(file.fileno(), LONGEST, 0).decode("utf-8", "replace")


def end(process: subprocess.Popen[bytes]) -> None:
    """Kills a command and what it started, and returns once that is gone."""
    if process.poll() is None:
        # A room ends with its first process, and `unshare` after it.
        inner = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        for child in inner.read_text().split() if inner.exists() else ():
            os.kill(int(child), signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GONE)
    until = time.monotonic() + GONE
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < until:
            os.killpg(process.pid, signal.SIGKILL)
            process.poll()
            time.sleep(0.005)
    if process.poll() is None:
        raise PlaceFailed(f"process {process.pid} does not end")
