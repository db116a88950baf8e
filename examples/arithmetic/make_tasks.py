#!/usr/bin/env python3
"""Writes tasks.jsonl: word problems with a known answer, in a conversation that shows the format.

The conversation's example turns are part of the prompt: no token of them is trained.
"""
import json
import pathlib
import random

SYSTEM = (
    "You solve word problems with a calculator. To compute, write one line: CALC: expression. "
    "You are then told the RESULT. When you know the answer, write one line: ANSWER: number."
)
SHOWN = [
    {"role": "user", "content": "Ann has 12 cups and buys 5 more. How many cups does she have?"},
    {"role": "assistant", "content": "CALC: 12 + 5"},
    {"role": "user", "content": "RESULT: 17"},
    {"role": "assistant", "content": "ANSWER: 17"},
    {"role": "user", "content": "Ben has 30 pens and loses 9. How many pens does he have?"},
    {"role": "assistant", "content": "CALC: 30 - 9"},
    {"role": "user", "content": "RESULT: 21"},
    {"role": "assistant", "content": "ANSWER: 21"},
]
NAMES = ["Tom", "Sue", "Max", "Eva", "Leo", "Mia"]
THINGS = ["apples", "books", "coins", "eggs", "shells", "stamps"]


def task(random):
    name, things = random.choice(NAMES), random.choice(THINGS)
    a, b = random.randint(11, 60), random.randint(2, 10)
    kind = random.choice(["more", "less", "times"])
    if kind == "more":
        text, answer = f"{name} has {a} {things} and finds {b} more. How many {things} does {name} have?", a + b
    elif kind == "less":
        text, answer = f"{name} has {a} {things} and gives {b} away. How many {things} does {name} have?", a - b
    else:
        text, answer = f"{name} has {b} boxes with {a} {things} each. How many {things} does {name} have?", a * b
    messages = [{"role": "system", "content": SYSTEM}, *SHOWN, {"role": "user", "content": text}]
    return {"input": messages, "metadata": {"answer": answer, "kind": kind}}


def main():
    numbers = random.Random(7)
    out = pathlib.Path(__file__).with_name("tasks.jsonl")
    out.write_text("".join(json.dumps(task(numbers)) + "\n" for _ in range(16)))


if __name__ == "__main__":
    main()
