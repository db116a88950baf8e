"""Rows in the shapes that trainers take.

Invariant: a token trains in the trainer only if it trains in the row, with the row's logprob; an adapter
invents nothing, and what a trainer has no place for goes into its metadata or is named in `docs/rows.md`.

No trainer is imported: an adapter gives plain data, or fills a class that it is given.
"""
from __future__ import annotations

from verbatim.adapters.miles import miles_sample
from verbatim.adapters.slime import slime_sample
from verbatim.adapters.transferqueue import Columns, transferqueue_columns
from verbatim.adapters.trl import trl_rollouts
from verbatim.adapters.verl import verl_output

__all__ = ["Columns", "miles_sample", "slime_sample", "transferqueue_columns", "trl_rollouts", "verl_output"]
