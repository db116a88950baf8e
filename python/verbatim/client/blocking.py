"""The client for synchronous code."""
from __future__ import annotations

import json
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import httpx

from verbatim import codec
from verbatim.client.attempts import Attempts, Retry
from verbatim.client.wire import (
    Answer,
    Call,
    Deadlines,
    control_key,
    create_body,
    headers,
    refusal,
    samples_body,
    server_url,
)
from verbatim.errors import SessionGone, SessionNotFound, TransportFailed, VerbatimError


class Client:
    """One server. Usable from several threads; closed by `close`, or as a context manager.

    `url` is the server's root (else `VERBATIM_URL`); `key` the control key (else the content of the file
    that `VERBATIM_CONTROL_KEY_FILE` names).
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        retry: Retry | None = None,
        deadlines: Deadlines | None = None,
    ) -> None:
        self.url = server_url(url)
        self.deadlines = deadlines or Deadlines()
        self._retry = retry or Retry()
        # Without https no certificates are loaded: it would take longer than a request.
        # The way to the server is not the environment's business: a proxy would see sessions' keys.
        self._http = httpx.Client(headers=headers(control_key(key)), trust_env=False, verify=self.url.startswith("https"))

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def create(
        self,
        *,
        lineage: str | None = None,
        matcher: str | None = None,
        group: str | None = None,
        lora: str | None = None,
    ) -> Session:
        """Opens a session; what is left out is the server's default."""
        body = create_body(lineage, matcher, group, lora)
        reply = json.loads(self.send(Call("POST", "/sessions", body), self.deadlines.create))
        return Session(self, reply["session_id"], reply.get("name"))

    def health(self) -> dict[str, Any]:
        """What `GET /health` says."""
        answer: dict[str, Any] = json.loads(self.send(Call("GET", "/health"), self.deadlines.other))
        return answer

    def send(self, call: Call, seconds: float) -> bytes:
        """One operation with its retries: the body of the reply.

        Raises ApiError, TransportFailed, DeadlineExceeded.
        """
        return self.exchange(call, seconds).body

    def exchange(self, call: Call, seconds: float) -> Answer:
        """As `send`: the whole reply."""
        attempts = Attempts(self._retry, seconds)
        while True:
            try:
                return self._once(call, attempts)
            except httpx.TimeoutException:
                raise attempts.exceeded() from None
            except httpx.TransportError as broken:
                error: VerbatimError = TransportFailed(f"{self.url}: {type(broken).__name__}: {broken}")
                error.__cause__ = broken
            except VerbatimError as refused:
                error = refused
            time.sleep(attempts.failed(error))

    def _once(self, call: Call, attempts: Attempts) -> Answer:
        url = f"{self.url}{call.path}"
        with self._http.stream(call.method, url, json=call.body, timeout=attempts.left()) as reply:
            body = bytearray()
            for piece in reply.iter_bytes():
                body += piece
                attempts.left()
        if reply.is_success:
            return Answer(reply.status_code, reply.headers, bytes(body))
        samples = call.path.endswith("/samples")
        raise refusal(reply.status_code, reply.headers.get("x-should-retry"), bytes(body), samples)


class Session:
    """An open session. As a context manager it is deleted at the end."""

    def __init__(self, client: Client, token: str, name: str | None) -> None:
        self._client = client
        self.api_key = token
        """The session's token: what an agent sends as its API key."""
        self.name = name
        """The session's name in logs and metrics; no secret."""
        self.base_url = f"{client.url}/v1"
        """What an OpenAI client takes as its base URL, with `api_key`."""
        self.url = f"{client.url}/sessions/{token}"
        """The session's own URL; `url + "/v1"` is a base URL that needs no key."""

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.delete()

    def samples(
        self,
        *,
        max_seq_len: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        reward: float | None = None,
        rewards: Mapping[str, float] | None = None,
        pick: str | None = None,
    ) -> codec.Payload:
        """The session's samples. `rewards` are by response id; `metadata` goes into the samples'.

        Raises SamplesRefused if they cannot be assembled, CodecError if the file cannot be read.
        """
        body = samples_body(max_seq_len, metadata, reward, rewards, pick, None)
        return codec.decode(self._send("POST", "/samples", self._client.deadlines.samples, body))

    def samples_file(self, file_format: str = "safetensors", **asked: Any) -> bytes:
        """The session's samples as a file: `safetensors`, `parquet` or `jsonl`; `asked` as in `samples`."""
        body = {**asked, "format": file_format}
        return self._send("POST", "/samples", self._client.deadlines.samples, body)

    def tree(self) -> dict[str, Any]:
        """What the session holds."""
        tree: dict[str, Any] = json.loads(self._send("GET", "", self._client.deadlines.other))
        return tree

    def delete(self) -> bool:
        """Ends the session, and what runs of it at the engine. False if it was gone already."""
        try:
            self._send("DELETE", "", self._client.deadlines.delete)
        except (SessionNotFound, SessionGone):
            return False
        return True

    def _send(self, method: str, path: str, seconds: float, body: dict[str, Any] | None = None) -> bytes:
        return self._client.send(Call(method, f"/sessions/{self.api_key}{path}", body), seconds)
