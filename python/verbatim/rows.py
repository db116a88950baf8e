"""Rows as the server assembles them, whatever file they came in.

Invariant: a row has a value for each of its tokens wherever a field says that it is per token; what is
unknown is None and never a number.
"""
from __future__ import annotations

import base64
import hashlib
import io
import json
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy
from numpy.typing import NDArray

from verbatim import codec
from verbatim.codec import MalformedPayload, Sample

T = TypeVar("T")
WIDTHS: dict[str, type[Any]] = {"u8": numpy.uint8, "u16": numpy.uint16, "i32": numpy.int32}
"""How wide a replay payload's number is in Parquet and JSONL."""
FOR_MILES = frozenset({*codec.SERVER_OWNED, "lifecycle"})
"""What the server writes into a sample's metadata for Miles: a row says the same elsewhere."""


@dataclass(frozen=True)
class Turn:
    """One sampled turn of a row."""

    start: int
    """The index of its first token in the row."""
    end: int
    """One past the index of its last token."""
    finish: str
    """`stop` or `length`."""
    temperature: float
    """What it was sampled with; 0 is greedy."""
    response: str
    """The id under which the agent knows it."""
    at: int
    """When it was committed, in milliseconds since the Unix epoch."""
    reward: float | None = None
    """Its own reward, if the agent gave one."""


@dataclass(frozen=True)
class RowImage:
    """An image that a row's tokens show, at its run of placeholders."""

    start: int
    """The index of its first placeholder."""
    length: int
    """How many placeholders it has."""
    grid_thw: tuple[int, int, int]
    """Its patches: in time, down, across."""
    media_type: str
    """`image/png`, `image/jpeg`, `image/webp` or `image/gif`."""
    sha256: str
    """Of `data`, in hexadecimal digits."""
    width: int
    """Pixels across, once it is turned as its EXIF data says."""
    height: int
    """Pixels down, likewise."""
    data: bytes = field(repr=False)
    """The file as the agent sent it."""


@dataclass(frozen=True)
class Row:
    """One lineage of n tokens."""

    tokens: list[int]
    """n ids: what the engine read and sampled."""
    prompt_length: int
    """How many tokens precede the first sampled one."""
    mask_cause: list[str | None]
    """n values: None trains, a cause does not."""
    logprobs: list[float | None]
    """n values in nats: the engine's for sampled tokens, None for all others."""
    versions: list[str | None]
    """n values: the policy version that sampled the token, None where unknown or not sampled."""
    turns: list[Turn]
    status: str
    """`completed` or `truncated`."""
    weight: float
    """1 over the number of the session's rows."""
    reward: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    """The dataset's and the agent's."""
    session: str | None = None
    group: str | None = None
    leaf: int | None = None
    """The node of the session's tree that ends the row."""
    name: str | None = None
    """The name under which the agent exported it."""
    group_index: int | None = None
    """Its group's task: its place in the dataset."""
    sample_index: int | None = None
    """Its session's place among all of the dataset's; all rows of a session have the same."""
    advantages: float | list[float] | None = None
    """One for the row, or one for each of its turns, if a function of the user's gave some."""
    logprob_kind: str = "raw"
    """Which distribution the logprobs are of: `raw`, `tempered` or `processed`."""
    routed_experts: NDArray[Any] | None = None
    """(n − 1) × layers × top-k."""
    indexer_topk: NDArray[Any] | None = None
    """(n − 1) × layers × k: the positions that sparse attention looked at."""
    images: list[RowImage] = field(default_factory=list)
    """The images that the tokens show, in their order; `verbatim.images` makes a trainer's inputs of them."""
    cached_tokens: int = 0
    """Prompt tokens that the engine had cached, summed over turns."""
    total_prompt_tokens: int = 0
    """Prompt tokens, summed over turns."""
    speculation: dict[str, int] | None = None
    """Speculative decoding over all turns: `proposed`, `accepted`, `verified`."""
    response: str | None = None
    """The response's text, where the file has it."""

    @property
    def loss_mask(self) -> list[int]:
        """n values: 1 trains."""
        return [int(cause is None) for cause in self.mask_cause]

    @property
    def response_length(self) -> int:
        """How many tokens the response has: from the first sampled one to the end."""
        return len(self.tokens) - self.prompt_length

    @property
    def weight_versions(self) -> list[str]:
        """The version of each turn's first token, where it is known."""
        firsts = (self.versions[turn.start] for turn in self.turns)
        return [version for version in firsts if version is not None]

    @property
    def token_advantages(self) -> list[float] | None:
        """n advantages, 0 for what was not sampled; None if the row has none."""
        if self.advantages is None:
            return None
        of_turns = self.advantages if isinstance(self.advantages, list) else [self.advantages] * len(self.turns)
        tokens = [0.0] * len(self.tokens)
        for turn, value in zip(self.turns, of_turns, strict=True):
            tokens[turn.start : turn.end] = [value] * (turn.end - turn.start)
        return tokens

    @property
    def turn_rewards(self) -> list[float | None] | None:
        """One reward for each turn, where there is one; None if no turn has one."""
        rewards = [turn.reward for turn in self.turns]
        return rewards if any(reward is not None for reward in rewards) else None

    def filled_logprobs(self) -> list[float]:
        """n logprobs for trainers that take no None: 0 where there is none; the mask is 0 there too."""
        return [0.0 if value is None else value for value in self.logprobs]


def of_sample(sample: Sample) -> Row:
    """The row of a decoded sample. Raises MalformedPayload if this server did not write it."""
    metadata = {key: value for key, value in sample.metadata.items() if key not in FOR_MILES}
    own = metadata.pop("verbatim", None)
    if not isinstance(own, dict):
        raise MalformedPayload("metadata.verbatim is missing: this sample was not written by verbatim")
    if "shadowed" in own:
        metadata["verbatim"] = own["shadowed"]
    values = [*[0.0] * sample.prompt_length, *(sample.rollout_log_probs or [])]
    known = spread(own["known"])
    return of_parts(
        own,
        tokens=sample.tokens,
        logprobs=[value if has else None for value, has in zip(values, known, strict=True)],
        reward=sample.reward if isinstance(sample.reward, (int, float)) else None,
        metadata=metadata,
        routed_experts=sample.rollout_routed_experts,
        indexer_topk=sample.rollout_indexer_topk,
        response=sample.response,
    )


def of_record(record: Mapping[str, Any]) -> Row:
    """The row of a line of JSONL, or of a Parquet record."""
    stored = json.loads(record["verbatim"]) if isinstance(record.get("verbatim"), str) else dict(record)
    metadata = record["metadata"]
    return of_parts(
        stored,
        tokens=list(record["tokens"]),
        logprobs=list(record["logprobs"]),
        reward=record["reward"],
        metadata=json.loads(metadata) if isinstance(metadata, str) else dict(metadata),
        routed_experts=replay(record.get("routed_experts"), stored.get("experts")),
        indexer_topk=replay(record.get("indexer_topk"), stored.get("indexer")),
        response=None,
    )


def of_parts(own: Mapping[str, Any], **rest: Any) -> Row:
    """A row of what every format stores alike, and of what each has its own way to store."""
    cache = own.get("cache") or {}
    names = Turn.__dataclass_fields__
    row = Row(
        prompt_length=own["prompt_length"],
        mask_cause=spread(own["mask"]),
        versions=spread(own["versions"]),
        turns=[Turn(**{"temperature": 1.0, **{k: v for k, v in turn.items() if k in names}}) for turn in own["turns"]],
        status=own["status"],
        weight=own["weight"],
        session=own.get("session"),
        group=own.get("group"),
        leaf=own.get("leaf"),
        name=own.get("name"),
        group_index=own.get("group_index"),
        sample_index=own.get("sample_index"),
        advantages=own.get("advantages"),
        logprob_kind=own.get("logprob_kind", "raw"),
        images=[image(stored) for stored in own.get("images") or ()],
        cached_tokens=cache.get("cached_tokens", 0),
        total_prompt_tokens=cache.get("total_prompt_tokens", 0),
        speculation=own.get("speculation"),
        **rest,
    )
    lengths = {len(values) for values in (row.tokens, row.mask_cause, row.logprobs, row.versions)}
    if len(lengths) != 1 or not 0 <= row.prompt_length <= len(row.tokens):
        raise MalformedPayload("a row's tokens, mask, logprobs and versions have different lengths")
    if isinstance(row.advantages, list) and len(row.advantages) != len(row.turns):
        raise MalformedPayload("a row's advantages are neither one number nor one a turn")
    return row


def image(stored: Mapping[str, Any]) -> RowImage:
    """An image of a row's list, its bytes checked."""
    data = base64.b64decode(stored["data"])
    if hashlib.sha256(data).hexdigest() != stored["sha256"]:
        raise MalformedPayload(f"an image's bytes are not those of sha256 {stored['sha256']}")
    time, down, across = stored["grid_thw"]
    return RowImage(
        start=stored["start"],
        length=stored["length"],
        grid_thw=(time, down, across),
        media_type=stored["media_type"],
        sha256=stored["sha256"],
        width=stored["width"],
        height=stored["height"],
        data=data,
    )


def spread(stretches: Iterable[tuple[T, int]]) -> list[T]:
    """The values of `[value, count]` pairs, one by one."""
    return [value for value, count in stretches for _ in range(count)]


def replay(content: bytes | str | None, shape: Mapping[str, Any] | None) -> NDArray[Any] | None:
    """A replay payload of Parquet's bytes or JSONL's base64."""
    if content is None or shape is None:
        return None
    raw = base64.b64decode(content) if isinstance(content, str) else content
    flat = numpy.frombuffer(raw, dtype=numpy.dtype(WIDTHS[shape["width"]]).newbyteorder("<"))
    return flat.reshape(-1, shape["layers"], shape["top_k"])


def read(file: str | pathlib.Path) -> list[Row]:
    """The rows of a file, by its extension: `.safetensors`, `.jsonl`, or `.parquet` (needs pyarrow)."""
    path = pathlib.Path(file)
    return list(parse(path.read_bytes(), path.suffix.removeprefix(".")))


def parse(content: bytes, file_format: str) -> Iterator[Row]:
    """The rows of a file's content."""
    if file_format == "safetensors":
        yield from map(of_sample, codec.decode(content).samples)
    elif file_format == "jsonl":
        # Lines end at line feeds only: U+2028 and its like are text.
        yield from (of_record(json.loads(line)) for line in content.split(b"\n") if line.strip())
    elif file_format == "parquet":
        import pyarrow.parquet  # type: ignore[import-untyped,import-not-found,unused-ignore]

        yield from map(of_record, pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist())
    else:
        raise ValueError(f"there is no format {file_format!r}; use safetensors, jsonl or parquet")
