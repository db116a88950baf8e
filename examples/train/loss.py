"""A policy gradient over the tokens that the policy sampled.

Invariant: a token has a share in the loss only where its row says that it trains, and the probability that it was
sampled with is the engine's own.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from transformers import LlamaForCausalLM

from verbatim import Group
from verbatim.rows import Row

CLIP = 0.2
"""How far a token's probability may move before it has no gradient (PPO's ε)."""


@dataclass(frozen=True)
class Example:
    """A row and what it is worth."""

    row: Row
    advantage: float
    """Its reward less its group's mean, over the group's deviation (GRPO)."""


def examples(groups: list[Group]) -> Iterator[Example]:
    """The rows of groups whose rewards differ; those of the others teach nothing."""
    for group in groups:
        rewards = torch.tensor([row.reward for row in group.rows], dtype=torch.float64)
        spread = rewards.std(unbiased=False)
        for row, reward in zip(group.rows, rewards):
            yield Example(row, float((reward - rewards.mean()) / (spread + 1e-6)))


def logprobs(model: LlamaForCausalLM, row: Row) -> torch.Tensor:
    """The logprob of every token but the first, given those before it."""
    ids = torch.tensor([row.tokens])
    logits = model(ids).logits[0, :-1].float()
    return torch.log_softmax(logits, dim=-1).gather(1, ids[0, 1:, None])[:, 0]


def surrogate(now: torch.Tensor, row: Row, advantage: float) -> torch.Tensor:
    """PPO's clipped objective, summed over the row's trained tokens, as a loss."""
    mask = torch.tensor(row.loss_mask[1:], dtype=torch.float32)
    then = torch.tensor(row.filled_logprobs()[1:])
    ratio = torch.exp(now - then)
    worth = torch.minimum(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage)
    return -(worth * mask).sum()


def gap(now: torch.Tensor, row: Row) -> float:
    """The mean difference in nats between the engine's logprobs of trained tokens and these."""
    mask = torch.tensor(row.loss_mask[1:], dtype=torch.bool)
    then = torch.tensor(row.filled_logprobs()[1:])
    return float((now.detach() - then)[mask].abs().mean())
