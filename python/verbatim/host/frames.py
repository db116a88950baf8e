"""Frames: two lengths, JSON, blob. Whole ones or none."""
from __future__ import annotations

import json
import struct
import threading
from typing import Any, BinaryIO

LENGTHS = struct.Struct("<II")
"""The bytes of the JSON and of the blob, in this order."""

Message = dict[str, Any]


def read(stream: BinaryIO) -> tuple[Message, bytes] | None:
    """The next frame; None at the end of the stream, also in the middle of a frame."""
    lengths = stream.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    json_length, blob_length = LENGTHS.unpack(lengths)
    text, blob = stream.read(json_length), stream.read(blob_length)
    if len(text) < json_length or len(blob) < blob_length:
        return None
    message: Message = json.loads(text)
    return message, blob


def pack(message: Message, blob: bytes = b"") -> list[bytes]:
    """A frame in pieces.

    Raises ValueError or TypeError if the message is not JSON; NaN is not, nor is half a surrogate pair.
    """
    text = json.dumps(message, allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=plain)
    encoded = text.encode()
    return [LENGTHS.pack(len(encoded), len(blob)), encoded, blob]


def plain(value: Any) -> Any:
    """What numpy's and torch's numbers and arrays are in JSON."""
    for name in ("tolist", "item"):
        convert = getattr(value, name, None)
        if callable(convert):
            return convert()
    raise TypeError(f"{type(value).__name__} is not JSON")


class Writer:
    """Writes frames from any thread."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, pieces: list[bytes]) -> None:
        """Writes what `pack` made."""
        with self._lock:
            for piece in pieces:
                self._stream.write(piece)
            self._stream.flush()
