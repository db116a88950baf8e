"""HTTP with the standard library."""
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reply:
    """An HTTP reply, whatever its status; status 0 is no reply at all."""

    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def request(url: str, body: Any = None, method: str | None = None, timeout: float = 60) -> Reply:
    """One HTTP request; `body` is sent as JSON."""
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data=data, method=method, headers={"content-type": "application/json"})
    try:
        with urllib.request.urlopen(asked, timeout=timeout) as reply:
            return Reply(reply.status, reply.read())
    except urllib.error.HTTPError as refused:
        return Reply(refused.code, refused.read())
    except (OSError, http.client.HTTPException) as failed:
        return Reply(0, str(failed).encode())


def events(url: str, body: Any, timeout: float) -> Iterator[Any]:
    """The events of one streamed reply; closing the iterator leaves in the middle of it. The last one
    is `[DONE]`, which is passed on as None."""
    parts = urllib.parse.urlsplit(url)
    with closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)) as connection:
        connection.request("POST", parts.path, json.dumps(body), {"content-type": "application/json"})
        reply = connection.getresponse()
        if reply.status != 200:
            raise http.client.HTTPException(f"{reply.status}: {reply.read().decode(errors='replace')}")
        for line in reply:
            data = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:"):
                yield None if data == b"[DONE]" else json.loads(data)
