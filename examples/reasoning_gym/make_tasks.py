#!/usr/bin/env python3
"""Writes tasks.jsonl: small reasoning-gym questions, each with solved ones of its kind to imitate.

A task has no prompt: the agent builds one from the metadata. Needs requirements.txt.
"""
import json
import pathlib

import reasoning_gym

SHOWN, EACH, SEED = 3, 4, 20
KINDS = {
    "chain_sum": {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1},
    "needle_haystack": {"min_num_statements": 2, "max_num_statements": 3},
    "spell_backward": {"min_word_len": 3, "max_word_len": 3},
    "letter_counting": {"min_words": 1, "max_words": 1},
    "syllogism": {},
    "word_sorting": {"min_words": 2, "max_words": 2},
}


def tasks(kind: str) -> list[dict]:
    """The kind's tasks; its first questions are the solved ones, and no question comes twice."""
    entries = reasoning_gym.create_dataset(kind, size=10 * (SHOWN + EACH), seed=SEED, **KINDS[kind])
    distinct = list({entry["question"]: entry for entry in entries}.values())[: SHOWN + EACH]
    solved = [{"question": entry["question"], "answer": entry["answer"]} for entry in distinct[:SHOWN]]
    return [{"metadata": {"kind": kind, "solved": solved, "entry": entry}} for entry in distinct[SHOWN:]]


def main() -> None:
    lines = [json.dumps(task) for kind in KINDS for task in tasks(kind)]
    pathlib.Path(__file__).with_name("tasks.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
