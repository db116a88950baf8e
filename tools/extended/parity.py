#!/usr/bin/env python3
"""Read drawn turns with an engine's parsers and with ours, and account for every difference.

usage: parity.py PARSE [--of sglang|vllm] [--cases N] [--seed N] [--family NAME]... [--show KIND] [--seconds N] [--write]

PARSE is the built example `parse` of the families' crate. The engines' parsers are their own Python
classes: SGLang's from the package llm-router-utils, vLLM's from an installed vLLM. For each family N turns are drawn, one in ten as a model should
write it, the others with a few things wrong. After --seconds a family's engine is asked no more, and
after ten about one turn it is interrupted: that is the kind "they hang". What differs is put under a kind by rule
(parity_kinds.py), and each kind has a verdict in docs/parity.md. The exit code is 1 if a difference is
of no kind, or of a kind without a verdict.
"""

import argparse
import collections
import importlib
import json
import math
import random
import signal
import subprocess
import sys
import tempfile
import time

import parity_draw
import parity_kinds
from parity_kinds import HANGS

# After so many seconds about one turn a class is taken to hang.
PATIENCE = 10

# Each family with the marks of its format, which mutations are made of.
XML = ["<tool_call>", "</tool_call>"]
THINK = ["<think>", "</think>"]
CODER = [*XML, "<function=", "</function>", "<parameter=", "</parameter>", "<function=get_weather>"]
MINIMAX = ["<minimax:tool_call>", "</minimax:tool_call>", '<invoke name="', "</invoke>", '<parameter name="', "</parameter>"]
GLM = [*XML, "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"]
KIMI = [
    "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>", "<|tool_call_end|>",
]  # fmt: skip
DSML = ["<｜DSML｜invoke name=", "</｜DSML｜invoke>", "<｜DSML｜parameter name=", "</｜DSML｜parameter>", 'string="true"']
DEEPSEEK32 = ["<｜DSML｜function_calls>", "</｜DSML｜function_calls>", *DSML]
DEEPSEEK4 = ["<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", *DSML]
MARKS = {
    "qwen25": XML,
    "qwen3": XML + THINK,
    "qwennext": XML + THINK,
    "qwen35": CODER + THINK,
    "qwen36": CODER + THINK,
    "nemotron3": CODER + THINK,
    "glm47": GLM + THINK,
    "minimax_m25": MINIMAX + THINK,
    "minimax_m27": MINIMAX + THINK,
    "kimi25": KIMI + THINK,
    "kimi26": KIMI + THINK,
    "deepseekv32": DEEPSEEK32 + THINK,
    "deepseekv4": DEEPSEEK4 + THINK,
    "llama3": ["<|python_tag|>", '{"name": ', '"parameters": ', "; "],
    "mistral": ["[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]"],
    "gptoss": [
        "<|channel|>", "<|message|>", "<|start|>assistant", "<|end|>", "<|call|>", "<|constrain|>", "analysis", "commentary",
        "final", " to=functions.", "<|channel|>analysis<|message|>",
    ],
}
THINKS = {family for family, marks in MARKS.items() if any("hink" in mark.lower() or mark == "analysis" for mark in marks)}
# smollm2 has no format of its own: calls are Qwen2.5's. Inkling's turns are cut at tokens into messages, and the
# package's reader of them wants the engine's tokenizer.
WITHOUT = {
    "smollm2": "no class of its own: its calls are read by Qwen2.5's",
    "inkling": "its classes read a stream that the engine's own tokenizer cut",
    "gemma3": "no class: its format has neither reasoning nor calls",
    "default": "takes its parsers by name from those above",
}


class Ours:
    """Our parser, many lines at once."""

    def __init__(self, program: str) -> None:
        self.program = program

    def __call__(self, lines: list[dict]) -> list[dict]:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        with tempfile.TemporaryFile("w+", encoding="utf-8") as asked:
            asked.write(text)
            asked.seek(0)
            done = subprocess.run([self.program], stdin=asked, capture_output=True, text=True, encoding="utf-8", check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]


def turns(ours: Ours, family: str, cases: int, seed: int) -> list[tuple[str, str, bool]]:
    """Texts with the state that each starts in, and whether nothing is wrong with it."""
    draw = random.Random(f"{seed} {family}")
    said = [parity_draw.message(draw, family in THINKS, family) for _ in range(cases)]
    spelt = ours([{"op": "say", "family": family, "tools": parity_draw.TOOLS, "message": one} for one in said])
    drawn = []
    for one in spelt:
        if "error" in one:  # What the format has no place for.
            continue
        whole = draw.random() < 0.1
        text = parity_draw.as_sampled(draw, one["text"]) if family == "gptoss" else one["text"]
        text = text if whole else parity_draw.mutate(draw, text, MARKS[family])
        drawn.append((text, one["start"], whole))
    return drawn


class Hangs(BaseException):
    """Nothing that an engine's class would catch."""


def _interrupt(*_: object) -> None:
    raise Hangs


def patiently(theirs_of: object, family: str, text: str, start: str) -> dict:
    """What the engine's classes read, if they come to an end."""
    signal.signal(signal.SIGALRM, _interrupt)
    signal.alarm(PATIENCE)
    try:
        return theirs_of.read(family, text, start, parity_draw.TOOLS)
    except Hangs:
        return {"error": HANGS, "reasoning": None, "content": "", "calls": []}
    finally:
        signal.alarm(0)


def compare(
    ours: Ours, theirs_of: object, family: str, cases: int, seed: int, show: str | None, seconds: float
) -> dict:
    drawn = turns(ours, family, cases, seed)
    read = ours(
        [
            {"op": "read", "family": family, "tools": parity_draw.TOOLS, "text": text, "start": start}
            for text, start, _ in drawn
        ]
    )
    kinds, shown, done = collections.Counter(), 0, 0
    if drawn:  # What is imported at the first call does not count.
        theirs_of.read(family, *drawn[0][:2], parity_draw.TOOLS)
    until = time.monotonic() + seconds
    for (text, start, whole), mine in zip(drawn, read, strict=True):
        if time.monotonic() > until:
            break
        done += 1
        theirs = patiently(theirs_of, family, text, start)
        for kind in parity_kinds.kinds(family, text, whole, mine, theirs, parity_draw.TOOLS):
            kinds[kind] += 1
            if show and kind.startswith(show) and shown < 12:
                shown += 1
                print(f"--- {family} {kind} start={start} whole={whole}\n{text!r}\n  ours   {json.dumps(mine, ensure_ascii=False)}\n  theirs {json.dumps(theirs, ensure_ascii=False)}")
    return {"turns": done, "kinds": dict(kinds.most_common())}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parse")
    parser.add_argument("--of", default="sglang", choices=["sglang", "vllm"])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", action="append", choices=sorted(MARKS))
    parser.add_argument("--show", help="print turns of the kinds that begin with this")
    parser.add_argument("--seconds", type=float, default=math.inf, help="the most that one family's engine may take")
    parser.add_argument("--write", action="store_true", help="write the counts into docs/parity.md")
    told = parser.parse_args()
    ours = Ours(told.parse)
    verdicts = parity_kinds.verdicts()
    found, bad = {}, []
    theirs_of = importlib.import_module(f"parity_{told.of}")
    for family in told.family or theirs_of.NAMES:
        found[family] = compare(ours, theirs_of, family, told.cases, told.seed, told.show, told.seconds)
        print(family, found[family]["turns"], json.dumps(found[family]["kinds"]), flush=True)
        bad += [(family, kind) for kind in found[family]["kinds"] if kind not in verdicts]
    for family, why in WITHOUT.items():
        print(f"{family}: not compared: {why}")
    for family, kind in bad:
        print(f"unexplained: {family}: {kind}", file=sys.stderr)
    if told.write:
        parity_kinds.write(found, told.of, told.cases, told.seed)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
