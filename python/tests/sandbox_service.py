"""A sandbox service to test against: slots that are folders, commands that are processes of this machine."""
from __future__ import annotations

import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Slot:
    folder: pathlib.Path
    runs: dict[str, Run] = field(default_factory=dict)


@dataclass
class Run:
    process: subprocess.Popen[bytes]
    output: pathlib.Path
    until: float

    def state(self) -> dict[str, Any]:
        status = self.process.poll()
        late = status is None and time.monotonic() > self.until
        if late:
            kill(self.process)
        text = self.output.read_text(errors="replace")
        if late or status == -signal.SIGKILL:
            return {"state": "late", "output": text}
        return {"state": "running"} if status is None else {"state": "done", "output": text, "status": status}


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@dataclass
class Service:
    """`flush_seconds` is how long a slot stays `flushing`; `dirty` says that none gets clean; of the next `drops` requests
    the connection is cut, some of them after they did what was asked."""

    size: int
    env: dict[str, str]
    url: str = ""
    flush_seconds: float = 0.0
    dirty: bool = False
    drops: int = 0
    slots: dict[str, Slot] = field(default_factory=dict)
    flushing: dict[str, float] = field(default_factory=dict)
    leased: list[str] = field(default_factory=list)
    most: int = 0
    asked: list[str] = field(default_factory=list)

    def state(self, name: str) -> str:
        if name in self.slots:
            return "leased"
        if self.dirty and name in self.flushing:
            return "dirty"
        return "flushing" if self.flushing.get(name, 0.0) > time.monotonic() else "free"

    def answer(self, method: str, path: list[str], body: Any) -> tuple[int, Any]:
        name, *rest = path[1:]
        slot = self.slots.get(name)
        if rest == [] and method == "GET":
            return 200, {"state": self.state(name)}
        if rest == [] and method == "PUT":
            return self.lease(name)
        if rest == [] and method == "DELETE":
            self.flush(name)
            return 202, None
        if slot is None:
            return 404, "no such slot"
        if rest == ["files"]:
            for file, text in body.items():
                (slot.folder / file).write_text(text)
            return 204, None
        if rest[0] == "files":
            file = slot.folder / rest[1]
            return (200, {"text": file.read_text()}) if file.is_file() else (404, None)
        if method == "PUT":
            self.start(slot, rest[1], body)
            return 202, None
        return 200, slot.runs[rest[1]].state()

    def lease(self, name: str) -> tuple[int, Any]:
        busy = len(self.slots) + sum(until > time.monotonic() for until in self.flushing.values())
        if name not in self.slots:
            if busy >= self.size:
                return 503, None
            self.slots[name] = Slot(pathlib.Path(tempfile.mkdtemp(prefix="slot-")))
            self.leased.append(name)
            self.most = max(self.most, len(self.slots))
        return 201, {}

    def start(self, slot: Slot, run: str, body: Any) -> None:
        if run in slot.runs:
            return
        output = slot.folder.with_name(f"{slot.folder.name}.{run}")
        with output.open("wb") as said:
            command = ["bash", "-c", body["command"]]
            process = subprocess.Popen(
                command, cwd=slot.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True,
            )  # fmt: skip
        slot.runs[run] = Run(process, output, time.monotonic() + body["seconds"])

    def flush(self, name: str) -> None:
        slot = self.slots.pop(name, None)
        if slot is None:
            return
        for run in slot.runs.values():
            kill(run.process)
            run.output.unlink()
        shutil.rmtree(slot.folder)
        self.flushing[name] = time.monotonic() + self.flush_seconds


@contextmanager
def serving(size: int, env: dict[str, str]) -> Iterator[Service]:
    service, lock = Service(size, env), threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"null")
            with lock:
                service.asked.append(f"{self.command} {self.path}")
                dropped = service.drops > 0
                service.drops -= dropped
                if not dropped or service.drops % 2:
                    status, reply = service.answer(self.command, self.path.strip("/").split("/"), body)
            if dropped:
                self.close_connection = True
                self.connection.close()
                return
            content = b"" if status == 204 else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_DELETE = handle_one

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        for name in list(service.slots):
            service.flush(name)
