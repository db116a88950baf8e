"""The server's own description, and requests drawn from it: none of them is a failure of the server's."""
from __future__ import annotations

import pathlib
import subprocess
import sys

from server import Server, request
from test_rollout import rollout_file


def test_no_drawn_request_is_a_failure_of_the_servers(tmp_path: pathlib.Path) -> None:
    file = rollout_file(tmp_path, engine="max_context = 4096")
    # What a paused engine or a closed gate holds is given up soon; nobody opens the gate again here.
    flags = ("--rollout", str(file), "--set", "sessions.hold_seconds=1", "--set", "sessions.adapters=true")
    server = Server(tmp_path / "server.log", *flags)
    try:
        assert request(f"{server.url}/control/adapters", {"name": "v1"}).status == 200
        session = server.open()
        told = request(f"{server.url}/openapi.json").json()["paths"]
        for route in ("chat/completions", "completions", "tokens", "responses", "messages"):
            assert f"/v1/{route}" in told and f"/sessions/{{session}}/v1/{route}" in told
        (tmp_path / "schemathesis.toml").write_text(f'[parameters]\nsession = "{session.token}"\n')
        command = [
            sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json",
            "--checks", "not_a_server_error", "--phases", "examples,coverage,fuzzing", "--max-time", "25",
            "--max-examples", "20", "--request-timeout", "20", "--generation-deterministic", "--no-shrink",
            "-H", f"authorization: Bearer {session.token}",
            # Held turns and engines that are no such thing are told by 502 and 503, which are not failures of ours.
            "--exclude-path-regex", "^/control/", "--exclude-operation-id", "close_session",
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        assert request(f"{server.url}/health").status == 200
    finally:
        server.stop()
    assert "panicked" not in (tmp_path / "server.log").read_text()
