"""A server that answers as it is told, and counts what it was asked."""
from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Stub:
    """`answers` maps `METHOD what` (`POST sessions`, `POST samples`, `DELETE session`) to the replies in order; the
    last one is repeated. A reply is `(status, body)`, `(status, body, headers)`, or `"cut"`: the connection breaks."""

    answers: dict[str, list[Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    bodies: dict[str, Any] = field(default_factory=dict)
    keys: set[str | None] = field(default_factory=set)
    url: str = ""
    delay: float = 0.0

    def count(self, what: str) -> int:
        return self.asked.count(what)


DEFAULTS: dict[str, list[Any]] = {
    "POST sessions": [(200, {"session_id": "token", "name": "s"})],
    "POST samples": [(422, {"error": {"message": "no", "code": "rows_refused"}})],
    "DELETE session": [(204, None)],
}


def what(method: str, path: str) -> str:
    parts = path.strip("/").split("/")
    word = {1: parts[0], 2: "session"}.get(len(parts), parts[-1])
    return f"{method} {word}"


@contextmanager
def stub(**answers: list[Any]) -> Iterator[Stub]:
    """Serves until the block ends; the names are `post_sessions`, `post_samples`, `delete_session`."""
    told = Stub({**DEFAULTS, **{name.replace("_", " ", 1).replace("post", "POST").replace("delete", "DELETE"): given
                                for name, given in answers.items()}})

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            asked = what(self.command, self.path)
            length = int(self.headers.get("content-length", 0))
            told.bodies[asked] = json.loads(self.rfile.read(length) or b"null")
            told.keys.add(self.headers.get("authorization"))
            replies = told.answers.get(asked, [(404, {"error": "unknown"})])
            reply = replies[min(told.count(asked), len(replies) - 1)]
            told.asked.append(asked)
            time.sleep(told.delay)
            if reply == "cut":
                self.close_connection = True
                self.connection.close()
                return
            status, body, *headers = reply
            content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in (headers[0] if headers else {}).items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = answer

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
