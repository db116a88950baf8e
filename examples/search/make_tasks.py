#!/usr/bin/env python3
"""Writes tasks.jsonl: who of two or three people is the oldest, with a page about each."""
import json
import pathlib
import random

NAMES = ["Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana"]
PAGES = ["{} was born in a small town and is now {} years old.", "{}, a baker, is {} years old and has two dogs."]


def task(draw: random.Random) -> dict[str, object]:
    people = draw.sample(NAMES, draw.choice([2, 2, 3]))
    ages = dict(zip(people, draw.sample(range(18, 80), len(people))))
    question = f"Who is the oldest: {', '.join(people[:-1])} or {people[-1]}?"
    pages = {name: draw.choice(PAGES).format(name, age) for name, age in ages.items()}
    return {"metadata": {"question": question, "pages": pages, "answer": max(ages, key=lambda name: ages[name])}}


if __name__ == "__main__":
    draw = random.Random(7)
    tasks = "".join(json.dumps(task(draw)) + "\n" for _ in range(24))
    (pathlib.Path(__file__).parent / "tasks.jsonl").write_text(tasks)
