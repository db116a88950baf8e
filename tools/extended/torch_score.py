#!/usr/bin/env python3
"""Score rows again with torch in float32, by another implementation of the model than ours.

usage: torch_score.py MODEL.gguf ROWS.jsonl... [--max-gap NATS] [--mean-gap NATS]

The GGUF file is dequantised into transformers' LlamaForCausalLM. Every sampled token's recorded
logprob is compared with the raw log-softmax there. Prints one JSON object; the exit code is 1 if a
gap is over its bound.
"""
import argparse
import json
import pathlib
import sys

import numpy
import torch
from transformers import LlamaForCausalLM

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent.parent / "examples/train"
sys.path.insert(0, str(EXAMPLE))

from model import load  # noqa: E402


def gaps(model: LlamaForCausalLM, row: dict) -> numpy.ndarray:
    """For each sampled token, recorded minus scored."""
    with torch.inference_mode():
        logits = model(torch.tensor([row["tokens"]])).logits[0]
    scored = torch.log_softmax(logits.float(), dim=-1)
    at = [i for i, value in enumerate(row["logprobs"]) if value is not None]
    return numpy.array([row["logprobs"][i] - scored[i - 1, row["tokens"][i]].item() for i in at])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("rows", type=pathlib.Path, nargs="+")
    parser.add_argument("--max-gap", type=float, default=float("inf"))
    parser.add_argument("--mean-gap", type=float, default=float("inf"))
    asked = parser.parse_args()
    model = load(asked.model)
    rows = [json.loads(line) for path in asked.rows for line in path.read_text().splitlines()]
    all_gaps = numpy.abs(numpy.concatenate([gaps(model, row) for row in rows]))
    report = {
        "rows": len(rows),
        "tokens": all_gaps.size,
        "mean": float(all_gaps.mean()),
        "max": float(all_gaps.max()),
        "holds": bool(all_gaps.mean() <= asked.mean_gap and all_gaps.max() <= asked.max_gap),
    }
    print(json.dumps(report))
    return 0 if report["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
