"""A `verbatim serve` that a test owns."""
import json
import os
import pathlib
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

import anthropic
import openai

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("VERBATIM_BIN", str(ROOT / "target/debug/verbatim"))


@dataclass(frozen=True)
class Reply:
    """An HTTP reply, whatever its status."""

    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Session:
    """An open session: what an agent is told, and what only its owner asks for."""

    server: str
    token: str

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL; the token is its API key."""
        return f"{self.server}/v1"

    def client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=self.base_url, api_key=self.token, max_retries=0)

    def strict(self) -> openai.OpenAI:
        """A client that refuses what is not exactly as its types say."""
        return openai.OpenAI(
            base_url=self.base_url, api_key=self.token, max_retries=0, _strict_response_validation=True
        )

    def anthropic(self) -> anthropic.Anthropic:
        """Anthropic's client, as strict; the token is its API key."""
        return anthropic.Anthropic(
            base_url=self.server, api_key=self.token, max_retries=0, _strict_response_validation=True
        )

    def tree(self) -> dict[str, Any]:
        return request(f"{self.server}/sessions/{self.token}").json()

    def turns(self) -> list[dict[str, Any]]:
        """The committed turns, in the order of their commits."""
        return [node for node in self.tree()["nodes"] if node["kind"] == "generation"]

    def rows_file(self, extension: str, **asked: Any) -> bytes:
        """The session's rows as a file of that format."""
        reply = request(f"{self.server}/sessions/{self.token}/samples", {"format": extension, **asked})
        assert reply.status == 200, reply.body
        return reply.body


class Server:
    """Starts on a free port when made, and is gone after `stop`."""

    def __init__(self, log: pathlib.Path, *flags: str) -> None:
        command = [BINARY, "serve", "--listen", "127.0.0.1:0", *flags]
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith("listening on "):
            self._process.kill()
            raise RuntimeError(f"{' '.join(command)} did not start: {log.read_text()}")
        self.url = line.split()[2]

    def open(self, **asked: Any) -> Session:
        return Session(self.url, request(f"{self.url}/sessions", asked).json()["session_id"])

    def stop(self) -> int:
        """Asks the server to end and gives its exit status."""
        self._process.terminate()
        try:
            return self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise


def request(url: str, body: Any = None, method: str | None = None) -> Reply:
    """One HTTP request; `body` is sent as JSON, bytes as they are."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    asked = urllib.request.Request(url, data=data, method=method, headers={"content-type": "application/json"})
    try:
        with urllib.request.urlopen(asked, timeout=60) as reply:
            return Reply(reply.status, reply.read())
    except urllib.error.HTTPError as refused:
        return Reply(refused.code, refused.read())


def verify_rows(*files: pathlib.Path) -> tuple[int, dict[str, Any]]:
    """The exit status and the report of `verbatim verify rows`."""
    command = [BINARY, "verify", "rows", "--json", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)
