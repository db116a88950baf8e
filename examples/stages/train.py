#!/usr/bin/env python3
"""A job for `verbatim demonstrate --job`: opens steps, takes their rows, makes a step of its optimizer, says so.

It learns a bias of each token by a policy gradient over the tokens that were sampled: enough to be a step of an
optimizer over rows whose rewards differ, and too little to be a policy. examples/train trains the model itself.

usage: train.py [STEPS]

Needs the package `verbatim`. $VERBATIM_ROLLOUT is the rollout file that is demonstrated, $VERBATIM_ROWS the folder where
rows are kept as they were delivered.
"""
from __future__ import annotations

import math
import os
import statistics
import sys
from collections import Counter, defaultdict

import verbatim

RATE = 0.05


def gradient(bias: dict[int, float], groups: list[verbatim.Group]) -> tuple[dict[int, float], int]:
    """The gradient of the expected advantage in each token's bias, and the rows that it was taken of."""
    slope: dict[int, float] = defaultdict(float)
    rows = 0
    for group in groups:
        rewards = [row.reward or 0.0 for row in group.rows]
        mean, spread = statistics.fmean(rewards), statistics.pstdev(rewards)
        for row, reward in zip(group.rows, rewards):
            rows += 1
            advantage = (reward - mean) / (spread + 1e-6)
            sampled = [token for token, trains in zip(row.tokens, row.loss_mask) if trains]
            total = sum(math.exp(bias.get(token, 0.0)) for token in set(sampled))
            for token, count in Counter(sampled).items():
                share = math.exp(bias.get(token, 0.0)) / total
                slope[token] += advantage * (count - share * len(sampled))
    return slope, rows


def main() -> int:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    bias: dict[int, float] = {}
    with verbatim.Rollout(os.environ["VERBATIM_ROLLOUT"], keep=os.environ["VERBATIM_ROWS"]) as rollout:
        for number in range(1, steps + 1):
            batch = rollout.step()
            if batch is None:
                break
            mixed = batch.mixed
            slope, rows = gradient(bias, mixed)
            for token, value in slope.items():
                bias[token] = bias.get(token, 0.0) + RATE * value / max(rows, 1)
            with rollout.update(version=number):
                pass
            norm = math.sqrt(sum(value * value for value in slope.values()))
            if rows:
                rollout.optimizer_step(batch.step, rows, number, [group.name for group in mixed], {"norm": norm})
            print(f"step {batch.step}: {len(mixed)} of {len(batch.groups)} groups mixed, {rows} rows, norm {norm:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
