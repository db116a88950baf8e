"""What a submitted repair is worth.

Invariant: the tests are the task's, whatever the agent made of them, and run in a place where nothing of the agent's
is left but the module's text.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from place import Place

SECONDS = 60.0
TESTS = "python -m pytest -q -p no:cacheprovider"


def is_test(name: str) -> bool:
    return name.startswith("test_")


def repaired(place: Place, files: Mapping[str, str]) -> dict[str, str] | None:
    """The modules as the agent left them, with the task's own tests; None if a module is gone."""
    texts = {name: text if is_test(name) else place.take(name) for name, text in files.items()}
    return {name: text for name, text in texts.items() if text is not None} if None not in texts.values() else None


def score(fresh: Place, files: Mapping[str, str], tests: int) -> dict[str, Any]:
    """1 if all tests pass, else 0, in a place that nobody used."""
    fresh.put(files)
    try:
        said, status = fresh.run(TESTS, SECONDS)
    except TimeoutError as late:
        said, status = str(late), -1
    counted = re.findall(r"^(\d+) passed in", said, re.MULTILINE)
    # The count too: a module that ends the interpreter while it is imported leaves a status of 0.
    right = status == 0 and counted[-1:] == [str(tests)]
    return {"reward": float(right), "metadata": {"tests_said": (said.strip().splitlines() or [""])[-1][:200]}}
