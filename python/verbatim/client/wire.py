"""What requests and replies look like, for both clients."""
from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from verbatim.client.attempts import AGAIN
from verbatim.errors import BY_STATUS, ApiError, SamplesRefused

DEFAULT_URL = "http://127.0.0.1:8377"


@dataclass(frozen=True)
class Deadlines:
    """Seconds that each operation may take, its retries included."""

    create: float = 60.0
    samples: float = 120.0
    delete: float = 120.0
    other: float = 30.0


@dataclass(frozen=True)
class Call:
    """One request."""

    method: str
    path: str
    body: dict[str, Any] | None = None


@dataclass(frozen=True)
class Answer:
    """A reply that is no refusal."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def said(**given: Any) -> dict[str, Any]:
    """What was given, without what was left out."""
    return {name: value for name, value in given.items() if value is not None}


def create_body(lineage: str | None, matcher: str | None, group: str | None, lora: str | None) -> dict[str, Any]:
    """What `POST /sessions` takes."""
    return said(lineage=lineage, matcher=matcher, group=group, lora=lora)


def samples_body(
    max_seq_len: int | None,
    metadata: Mapping[str, Any] | None,
    reward: float | None,
    rewards: Mapping[str, float] | None,
    pick: str | None,
    file_format: str | None,
) -> dict[str, Any]:
    """What `POST /sessions/{id}/samples` takes."""
    return said(
        max_seq_len=max_seq_len,
        metadata=None if metadata is None else dict(metadata),
        reward=reward,
        rewards=None if rewards is None else dict(rewards),
        pick=pick,
        format=file_format,
    )


def server_url(url: str | None) -> str:
    """The server's root: what was given, else `VERBATIM_URL`, else the default; without a trailing slash."""
    chosen = url or os.environ.get("VERBATIM_URL") or DEFAULT_URL
    if urlsplit(chosen).scheme not in ("http", "https"):
        raise ValueError(f"{chosen!r} is no http URL; give the server's root, as {DEFAULT_URL}")
    return chosen.rstrip("/")


def control_key(key: str | None) -> str | None:
    """The control key: what was given, else the content of the file `VERBATIM_CONTROL_KEY_FILE`."""
    if key is not None:
        return key.strip()
    file = os.environ.get("VERBATIM_CONTROL_KEY_FILE")
    return pathlib.Path(file).read_text(encoding="utf-8").strip() if file else None


def headers(key: str | None) -> dict[str, str]:
    """What goes with every request."""
    return {} if key is None else {"authorization": f"Bearer {key}"}


def refusal(status: int, should_retry: str | None, body: bytes, samples: bool) -> ApiError:
    """The error of a reply whose status is no success."""
    text = body.decode("utf-8", "replace")
    message, code, param = text, None, None
    try:
        error = json.loads(text)["error"]
        if isinstance(error, dict):
            message, code, param = str(error.get("message", text)), error.get("code"), error.get("param")
        else:
            message = str(error)
    except (ValueError, KeyError, TypeError):
        # Not in OpenAI's shape: the body is the message.
        pass
    kind = BY_STATUS.get(status, SamplesRefused if samples and status == 422 else ApiError)
    may_retry = status in AGAIN and should_retry != "false"
    return kind(status, message, code, param, may_retry)
