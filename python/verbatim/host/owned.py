"""What the server owns in a sample's metadata, and keeps whatever a hook does.

Invariant: after `restore`, the keys of the server hold what they held before the hook, or, in a sample that
the hook made itself, are not there; and no token trains that no engine sampled with a logprob.
"""
from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from verbatim.codec import SERVER_OWNED, Sample
from verbatim.host.calls import bad

ROW = "verbatim"
"""Our own key: the row's causes, versions and turns. It goes with the tokens."""
NEVER_TRAINS = ("observation", "no_logprob")
"""The causes of tokens that nothing can make trainable."""

Stretches = list[list[Any]]
"""`[value, count]` pairs."""


class Owned:
    """The server's data of the samples before a hook."""

    def __init__(self, samples: list[Sample]) -> None:
        self._metadata = [copy.deepcopy(kept(sample.metadata)) for sample in samples]
        self._tokens = [list(sample.tokens) for sample in samples]
        self._masks = [list(sample.loss_mask or ()) for sample in samples]

    def restore(self, sample: Sample) -> None:
        """Puts the server's data back."""
        for key in (*SERVER_OWNED, ROW):
            sample.metadata.pop(key, None)
        if sample.origin is None:
            return
        before = copy.deepcopy(self._metadata[sample.origin])
        row = before.pop(ROW, None)
        sample.metadata.update(before)
        # Causes and versions per token mean nothing for other tokens.
        if row is not None and sample.tokens == self._tokens[sample.origin]:
            if sample.loss_mask != self._masks[sample.origin]:
                row["mask"] = masked(row["mask"], sample)
            sample.metadata[ROW] = row


def kept(metadata: dict[str, Any]) -> dict[str, Any]:
    """The server's part of a sample's metadata."""
    return {key: metadata[key] for key in (*SERVER_OWNED, ROW) if key in metadata}


def masked(before: Stretches, sample: Sample) -> Stretches:
    """The causes after a hook changed the mask: what it masked is masked by policy."""
    mask = [0] * sample.prompt_length + list(sample.loss_mask or [0] * sample.response_length)
    after: Stretches = []
    for cause, trains in zip(each(before), mask, strict=True):
        if trains and cause in NEVER_TRAINS:
            raise bad("the postprocessor trains a token that no engine sampled with a logprob")
        now = None if trains else cause or "policy"
        if after and after[-1][0] == now:
            after[-1][1] += 1
        else:
            after.append([now, 1])
    return after


def each(stretches: Stretches) -> Iterator[str | None]:
    """The values of stretches, one by one."""
    for value, count in stretches:
        for _ in range(count):
            yield value
