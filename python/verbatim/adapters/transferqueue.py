"""TransferQueue's columns, in the names that Relax's trainer reads."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from verbatim.images import multimodal_train_inputs
from verbatim.rows import Row


@dataclass(frozen=True)
class Columns:
    """What one put inserts. Rows are in the order of their sample index."""

    fields: dict[str, list[Any]]
    """Column name → one value a row. Arrays are ragged: put them as jagged nested tensors."""
    custom_meta: list[dict[str, int]]
    """One a row, delivered with readiness: `total_lengths` and `sample_index`."""


def transferqueue_columns(
    rows: Sequence[Row],
    sample_index: Mapping[str, int] | None = None,
    group_index: Mapping[str, int] | None = None,
    image_processor: Any = None,
) -> Columns:
    """The columns of a batch.

    All rows of a session share a `sample_indices`; `sample_index` and `group_index` map sessions and groups to
    the trainer's numbers, else they are the rows' own, else they are numbered as they come. `rewards` are the
    advantages where rows have them: one number, or one a token of the response. `sample_index_mask_sums` is the
    number of trained tokens over all rows of the session. With a model's Hugging Face `image_processor` there is a
    column `multimodal_train_inputs` (`verbatim.images`; empty for a row without images). Raises ValueError for a row with neither a reward nor
    advantages: a column of numbers cannot say that one is unknown.
    """
    if any(row.reward is None and row.advantages is None for row in rows):
        raise ValueError("a row has no reward and no advantages; reward its session before it is put")
    sessions = numbered([row.session for row in rows], [row.sample_index for row in rows], sample_index)
    groups = numbered([row.group for row in rows], [row.group_index for row in rows], group_index)
    order = sorted(range(len(rows)), key=lambda at: (sessions[at], at))
    rows, sessions, groups = [rows[at] for at in order], [sessions[at] for at in order], [groups[at] for at in order]
    sums: dict[int, int] = {}
    for row, session in zip(rows, sessions):
        sums[session] = sums.get(session, 0) + sum(row.loss_mask)
    fields: dict[str, list[Any]] = {
        "tokens": [numpy.asarray(row.tokens, numpy.int64) for row in rows],
        "response_lengths": [row.response_length for row in rows],
        "rewards": [credit(row) for row in rows],
        "group_index": groups,
        "truncated": [int(row.status == "truncated") for row in rows],
        "sample_indices": sessions,
        "loss_masks": [numpy.asarray(row.loss_mask[row.prompt_length :], numpy.int64) for row in rows],
        "sample_index_mask_sums": [sums[session] for session in sessions],
        "total_lengths": [len(row.tokens) for row in rows],
        "rollout_log_probs": [
            numpy.asarray(row.filled_logprobs()[row.prompt_length :], numpy.float32) for row in rows
        ],
    }
    if all(row.reward is not None for row in rows):
        fields["raw_reward"] = [row.reward for row in rows]
    if rows and all(row.routed_experts is not None for row in rows):
        fields["rollout_routed_experts"] = [flat(row) for row in rows]
    if image_processor is not None:
        fields["multimodal_train_inputs"] = [multimodal_train_inputs(row, image_processor) for row in rows]
    meta = [
        {"total_lengths": len(row.tokens), "sample_index": session} for row, session in zip(rows, sessions)
    ]
    return Columns(fields, meta)


def flat(row: Row) -> Any:
    """Routed experts as (n − 1) × (layers · top-k), int32."""
    assert row.routed_experts is not None
    return row.routed_experts.reshape(len(row.routed_experts), -1).astype(numpy.int32)


def credit(row: Row) -> Any:
    """What a row's tokens are trained with: its advantages, else its reward."""
    if isinstance(row.advantages, list):
        return numpy.asarray((row.token_advantages or [])[row.prompt_length :], numpy.float32)
    return row.reward if row.advantages is None else row.advantages


def numbered(
    names: Sequence[str | None], own: Sequence[int | None], given: Mapping[str, int] | None
) -> list[int]:
    """A number for each name: the given one, else the row's own if all have one, else in the order of first
    appearance; no name is 0."""
    if given is not None:
        return [given[name] if name is not None else 0 for name in names]
    known = [number for number in own if number is not None]
    if len(known) == len(names):
        return known
    seen: dict[str, int] = {}
    return [seen.setdefault(name, len(seen)) if name is not None else 0 for name in names]
