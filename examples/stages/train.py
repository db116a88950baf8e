#!/usr/bin/env python3
"""A job for `verbatim demonstrate --job`: opens steps, takes their rows, makes steps of its optimizer, says so.

It learns a bias of each token by a policy gradient over the tokens that were sampled: enough to be a step of an
optimizer over rows whose rewards differ, and too little to be a policy. examples/train trains the model itself.

usage: train.py [UPDATES [STEPS]]

Ends after UPDATES steps of its optimizer [default: 2], or STEPS of the rollout [default: as many]: a step whose groups
have all the same rewards teaches nothing, and is none of the optimizer's.

Needs the package `verbatim`. $VERBATIM_ROLLOUT is the rollout file that is demonstrated, $VERBATIM_ROWS the folder where
rows are kept as they were delivered.
"""
from __future__ import annotations

import math
import os
import statistics
import sys
from collections import defaultdict

import verbatim

RATE = 0.05


def advantages(group: verbatim.Group) -> list[list[float]]:
    """Of each row the advantage of each token: whoever gives credit has said them, else GRPO's of the group's rewards."""
    rewards = [row.reward for row in group.rows if row.reward is not None]
    mean, spread = statistics.fmean(rewards), statistics.pstdev(rewards)
    own = [((row.reward or 0.0) - mean) / (spread + 1e-6) for row in group.rows]
    return [row.token_advantages or [value] * len(row.tokens) for row, value in zip(group.rows, own)]


def gradient(bias: dict[int, float], groups: list[verbatim.Group]) -> tuple[dict[int, float], int]:
    """The gradient of the expected advantage in each token's bias, and the rows that it was taken of."""
    slope: dict[int, float] = defaultdict(float)
    rows = 0
    for group in groups:
        for row, worth in zip(group.rows, advantages(group)):
            rows += 1
            sampled = [(token, worth[at]) for at, token in enumerate(row.tokens) if row.loss_mask[at]]
            policy = {token: math.exp(bias.get(token, 0.0)) for token, _ in sampled}
            total, all_worth = sum(policy.values()), sum(value for _, value in sampled)
            for token, value in sampled:
                slope[token] += value
            for token, weight in policy.items():
                slope[token] -= all_worth * weight / total
    return slope, rows


def main() -> int:
    updates = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else updates
    bias: dict[int, float] = {}
    made = 0
    with verbatim.Rollout(os.environ["VERBATIM_ROLLOUT"], keep=os.environ["VERBATIM_ROWS"]) as rollout:
        for number in range(1, steps + 1):
            batch = rollout.step() if made < updates else None
            if batch is None:
                break
            mixed = batch.mixed
            slope, rows = gradient(bias, mixed)
            for token, value in slope.items():
                bias[token] = bias.get(token, 0.0) + RATE * value / max(rows, 1)
            made += int(rows > 0)
            with rollout.update(version=number):
                pass
            norm = math.sqrt(sum(value * value for value in slope.values()))
            if rows:
                rollout.optimizer_step(batch.step, rows, number, [group.name for group in mixed], {"norm": norm})
            print(f"step {batch.step}: {len(mixed)} of {len(batch.groups)} groups mixed, {rows} rows, norm {norm:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
