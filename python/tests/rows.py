"""Rows files, read with the packages that their formats belong to and nothing of ours."""
import io
import json
from dataclasses import dataclass

import numpy
import pyarrow.parquet
import safetensors.numpy

FORMATS = ("jsonl", "parquet", "safetensors")


@dataclass(frozen=True)
class Row:
    """What a trainer takes from a row. Logprobs are None where the file has none."""

    tokens: tuple[int, ...]
    loss_mask: tuple[int, ...]
    logprobs: tuple[float | None, ...]
    prompt_length: int
    status: str
    reward: float | None
    turns: tuple[tuple[int, int], ...]

    def sampled(self) -> set[int]:
        """The positions that lie in a sampled turn."""
        return {at for start, end in self.turns for at in range(start, end)}

    def trained(self) -> set[int]:
        """The positions that carry loss."""
        return {at for at, value in enumerate(self.loss_mask) if value}


def spans(turns: list[dict]) -> tuple[tuple[int, int], ...]:
    return tuple((turn["start"], turn["end"]) for turn in turns)


def from_jsonl(content: bytes) -> list[Row]:
    lines = [json.loads(line) for line in content.splitlines()]
    return [
        Row(
            tokens=tuple(line["tokens"]),
            loss_mask=tuple(line["loss_mask"]),
            logprobs=tuple(line["logprobs"]),
            prompt_length=line["prompt_length"],
            status=line["status"],
            reward=line["reward"],
            turns=spans(line["turns"]),
        )
        for line in lines
    ]


def from_parquet(content: bytes) -> list[Row]:
    records = pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist()
    return [
        Row(
            tokens=tuple(record["tokens"]),
            loss_mask=tuple(record["loss_mask"]),
            logprobs=tuple(record["logprobs"]),
            prompt_length=record["prompt_length"],
            status=record["status"],
            reward=record["reward"],
            turns=spans(json.loads(record["verbatim"])["turns"]),
        )
        for record in records
    ]


def from_safetensors(content: bytes) -> list[Row]:
    """Miles' layout: mask and logprobs cover the response only, and a missing logprob is 0."""
    tensors = safetensors.numpy.load(content)
    samples = json.loads(tensors["_samples_meta"].tobytes())["samples"]
    rows = []
    for at, sample in enumerate(samples):
        tokens = tensors[f"tokens.{at}"]
        prompt = len(tokens) - sample["response_length"]
        turns = spans(sample["metadata"]["verbatim"]["turns"])
        has = numpy.zeros(len(tokens), bool)
        for start, end in turns:
            has[start:end] = True
        values = [None] * prompt + tensors[f"rollout_log_probs.{at}"].tolist()
        rows.append(
            Row(
                tokens=tuple(tokens.tolist()),
                loss_mask=(0,) * prompt + tuple(tensors[f"loss_mask.{at}"].tolist()),
                logprobs=tuple(value if there else None for value, there in zip(values, has)),
                prompt_length=prompt,
                status=sample["status"],
                reward=sample["reward"],
                turns=turns,
            )
        )
    return rows


READERS = {"jsonl": from_jsonl, "parquet": from_parquet, "safetensors": from_safetensors}


def same(one: list[Row], other: list[Row]) -> bool:
    """Whether two files hold the same rows. JSON spells a float32 in the fewest digits, so
    logprobs are compared as float32; everything else must be equal."""

    def comparable(row: Row) -> tuple:
        logprobs = tuple(None if value is None else float(numpy.float32(value)) for value in row.logprobs)
        return (row.tokens, row.loss_mask, logprobs, row.prompt_length, row.status, row.reward, row.turns)

    return [comparable(row) for row in one] == [comparable(row) for row in other]
