"""Rows files as JSON lines, mistakes planted in them, and what their ids spell."""
import json
import pathlib
import random
from typing import Any

from .place import WEIGHTS


def lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def read(*files: pathlib.Path) -> list[dict[str, Any]]:
    return [row for file in files for row in lines(file.read_bytes())]


def write(rows: list[dict[str, Any]], file: pathlib.Path) -> pathlib.Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def sampled(row: dict[str, Any]) -> list[int]:
    """The positions that lie in a sampled turn."""
    return [at for turn in row["turns"] for at in range(turn["start"], turn["end"])]


def shifted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every logprob stands one sampled token too late."""

    def moved(row: dict[str, Any]) -> dict[str, Any]:
        at = [i for i in sampled(row) if row["logprobs"][i] is not None]
        logprobs = list(row["logprobs"])
        for to, source in zip(at, [at[-1], *at[:-1]]):
            logprobs[to] = row["logprobs"][source]
        return {**row, "logprobs": logprobs}

    return [moved(row) for row in rows]


def one_id_changed(rows: list[dict[str, Any]], vocabulary: int) -> list[dict[str, Any]]:
    """One sampled id of one row is another one."""
    numbers = random.Random(11)
    row = max(range(len(rows)), key=lambda at: len(sampled(rows[at])))
    at = sampled(rows[row])[len(sampled(rows[row])) // 2]
    tokens = list(rows[row]["tokens"])
    tokens[at] = (tokens[at] + numbers.randrange(100, vocabulary - 100)) % vocabulary
    return [*rows[:row], {**rows[row], "tokens": tokens}, *rows[row + 1 :]]


def byte_of() -> dict[str, int]:
    """The bytes that the characters of a byte-level vocabulary stand for."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + at): byte for at, byte in enumerate(others)}


class Spelling:
    """What ids spell, read from the model's tokenizer.json and by nothing of ours."""

    def __init__(self) -> None:
        tokenizer = json.loads((WEIGHTS / "tokenizer.json").read_text())
        bytes_of = byte_of()
        self._added = {token["id"] for token in tokenizer["added_tokens"]}
        self._bytes = {
            id: bytes(bytes_of[char] for char in text)
            for text, id in tokenizer["model"]["vocab"].items()
            if id not in self._added
        }

    def text(self, ids: list[int]) -> str:
        """The text without special tokens."""
        return b"".join(self._bytes.get(id, b"") for id in ids).decode(errors="replace")

    def is_whole(self, id: int) -> bool:
        """Whether the token is text by itself, and not a part of a character."""
        try:
            self._bytes.get(id, b"").decode()
        except UnicodeDecodeError:
            return False
        return True
