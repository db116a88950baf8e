#!/usr/bin/env python3
"""A central agent server: one process that plays for many sessions, each begun by a thin client.

Invariant: at most so many threads play for training and so many for evaluation, whatever clients ask for; neither
waits for the other.

  POST /runs {"session_id", "group_id", "mode", "base_url", "api_key"}   202
  GET  /runs/SESSION_ID           200 {"state", "exit_code", "result", "error"}; 404 once it is forgotten
  POST /runs/SESSION_ID/cancel    202; 404
  GET  /health                    200 {"running": {"train", "eval"}}
"""
from __future__ import annotations

import argparse
import http.server
import json
import pathlib
import signal
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from game import play
from records import Cancelled, Record, Records


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024

    def __init__(self, listen: tuple[str, int], records: Records, threads: dict[str, int]) -> None:
        super().__init__(listen, Handler)
        self.records = records
        self.pools = {mode: ThreadPoolExecutor(count, mode) for mode, count in threads.items()}

    def begin(self, asked: dict[str, Any]) -> None:
        pool = self.pools[asked["mode"]]
        record, new = self.records.create(
            asked["session_id"], asked["group_id"], asked["mode"], asked["base_url"], asked["api_key"]
        )
        if new:
            pool.submit(self.run, record)

    def run(self, record: Record) -> None:
        if not self.records.begin(record):
            return
        try:
            self.records.end(record, "completed", 0, result=play(record))
        except Cancelled:
            self.records.end(record, "cancelled", 143)
        except Exception:
            self.records.end(record, "failed", 1, error=traceback.format_exc())


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        match self.path.strip("/").split("/"):
            case ["runs"]:
                try:
                    self.server.begin(json.loads(content))
                    self.answer(202, {})
                except (KeyError, ValueError) as error:
                    self.answer(400, {"error": f"{type(error).__name__}: {error}"})
            case ["runs", session, "cancel"]:
                self.answer(202 if self.server.records.cancel(session) else 404, {})
            case _:
                self.answer(404, {})

    def do_GET(self) -> None:
        match self.path.strip("/").split("/"):
            case ["health"]:
                running = {mode: self.server.records.count("running", mode) for mode in self.server.pools}
                self.answer(200, {"running": running})
            case ["runs", session] if (record := self.server.records.get(session)) is not None:
                self.answer(200, record.view())
            case _:
                self.answer(404, {})

    def answer(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=8400)
    parser.add_argument("--train-threads", type=int, default=64)
    parser.add_argument("--eval-threads", type=int, default=16)
    parser.add_argument("--ttl", type=float, default=3600.0, help="seconds that the end of a run is remembered")
    asked = parser.parse_args()
    lines = pathlib.Path(__file__).with_name("secrets.jsonl").read_text().splitlines()
    records = Records([json.loads(line) for line in lines], asked.ttl)
    threads = {"train": asked.train_threads, "eval": asked.eval_threads}
    with Server(("127.0.0.1", asked.port), records, threads) as server:
        print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            server.serve_forever()
        finally:
            # Threads that play end at their next turn, which would else be waited for.
            records.cancel_all()


if __name__ == "__main__":
    main()
