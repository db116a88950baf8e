#!/usr/bin/env python3
"""Trains the small model on word problems: rows of groups with differing rewards, a policy-gradient step in torch,
the weights handed back to the engine, and the new version seen in the next rows.

usage: train.py [--steps N] [--rate RATE] [--set KEY=VALUE ...]

Needs the package `verbatim`, its command (VERBATIM_BIN), and requirements.txt. As the job of `verbatim demonstrate` it
trains on the rollout file of $VERBATIM_ROLLOUT, and keeps the rows in $VERBATIM_ROWS.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
import time

import torch

import loss
import model as policy
import verbatim

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent.parent / ".cache/assets/smollm2-135m-instruct/model.gguf"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("--steps", type=int, default=4)
    asked.add_argument("--rate", type=float, default=2e-5)
    asked.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="another setting of the rollout")
    args = asked.parse_args()
    model = policy.load(MODEL)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.rate, weight_decay=0.0)
    flags = [f"--set={setting}" for setting in args.set]
    file, kept = os.environ.get("VERBATIM_ROLLOUT", HERE / "rollout.toml"), os.environ.get("VERBATIM_ROWS")
    with verbatim.Rollout(file, flags=flags, keep=kept) as rollout, tempfile.TemporaryDirectory() as folder:
        for number in range(1, args.steps + 1):
            since = time.monotonic()
            batch = rollout.step()
            if batch is None:
                break
            sampled = time.monotonic() - since
            metrics = step(model, optimizer, batch)
            policy.save(model, pathlib.Path(folder))
            with rollout.update(version=number):
                rollout.load_weights(folder)
            groups = [group.name for group in batch.mixed]
            rollout.optimizer_step(batch.step, int(metrics["rows"]), number, groups, metrics)
            rewards = [row.reward for row in batch.rows]
            versions = sorted({version for row in batch.rows for version in row.versions if version is not None})
            print(
                f"step {batch.step}: reward {sum(rewards) / len(rewards):.3f} over {len(rewards)} rows, "
                f"{len(groups)} of {len(batch.groups)} groups mixed, sampled by version {', '.join(versions)}; "
                f"engine and torch differ by {metrics['gap']:.1e} nats a token before the step; "
                f"{sampled:.0f} s of sampling, {time.monotonic() - since - sampled:.0f} s of training",
                flush=True,
            )
    return 0


def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, batch: verbatim.Batch) -> dict[str, float]:
    """One step of the optimizer over a batch; none if no group's rewards differ."""
    examples = list(loss.examples(batch.mixed))
    tokens = sum(sum(example.row.loss_mask) for example in examples)
    total, gaps = 0.0, []
    for example in examples:
        now = loss.logprobs(model, example.row)
        share = loss.surrogate(now, example.row, example.advantage) / tokens
        share.backward()
        total += float(share.detach())
        gaps.append(loss.gap(now, example.row))
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if examples:
        optimizer.step()
    optimizer.zero_grad()
    return {
        "rows": len(examples), "tokens": tokens, "loss": total, "norm": float(norm),
        "gap": sum(gaps) / max(len(gaps), 1),
    }


if __name__ == "__main__":
    sys.exit(main())
