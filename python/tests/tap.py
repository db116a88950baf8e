"""A proxy that keeps what an agent said on the wire, for checks that must not ask the server."""
import http.server
import json
import threading
from dataclasses import dataclass, field
from typing import Any

from server import request


@dataclass
class Tap:
    """Passes whole requests on to a server, and keeps each chat request that was answered with the
    id of its reply. It speaks for one bearer token; streams are not passed on."""

    server: str
    token: str
    kept: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> "Tap":
        tap = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers["content-length"]))
                reply = request(f"{tap.server}/sessions/{tap.token}{self.path}", sent)
                if reply.status == 200:
                    tap.kept.append({"request": json.loads(sent), "response": reply.json()["id"]})
                self.send_response(reply.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *_: object) -> None:
                """Quiet: what matters is kept."""

        self._listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._listener.server_port}"
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown()
        self._listener.server_close()
