#!/usr/bin/env python3
"""Writes tasks.jsonl: each project of `projects/` with one bug in it, which its tests notice.

A bug is one edit of a project that works. Nothing is written unless the tests pass without it and fail with it, so
that each task can be solved and none is solved already. Needs requirements.txt.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass

HERE = pathlib.Path(__file__).parent


@dataclass(frozen=True)
class Bug:
    project: str
    file: str
    kind: str
    issue: str
    right: str
    wrong: str


BUGS = [
    Bug("intervals", "intervals.py", "boundary", "Intervals that touch, (1, 3) and (3, 5), are not merged into one.",
        "start <= merged[-1][1]", "start < merged[-1][1]"),
    Bug("intervals", "intervals.py", "lost case", "Merging (1, 10) with (2, 3) gives (1, 3): the longer one is cut.",
        "max(merged[-1][1], end)", "end"),
    Bug("inventory", "inventory.py", "shared state", "Adding to an inventory changes the dict that it was made from.",
        "dict(stock or {})", "stock or {}"),
    Bug("inventory", "inventory.py", "missing check", "Removing more than there is makes the stock negative.",
        "if self.stock.get(item, 0) < count:", "if item not in self.stock:"),
    Bug("wrapping", "wrapping.py", "boundary", "A line that is exactly as wide as allowed is broken in two.",
        "len(longer) <= width", "len(longer) < width"),
    Bug("wrapping", "wrapping.py", "lost case", "The last line of a text is missing from the result of wrap.",
        "    if line:\n        lines.append(line)\n    return lines", "    return lines"),
    Bug("roman", "roman.py", "wrong data", "to_roman(9) gives VIIII where it should give IX.",
        '(9, "IX"), ', ""),
    Bug("roman", "roman.py", "wrong operator", "from_roman('IV') gives 6, it should be 4.",
        "-value if value < following", "-value if value > following > 0"),
    Bug("cache", "cache.py", "wrong end", "A full cache forgets what was just put, not the oldest entry.",
        "next(iter(self.kept))", "next(reversed(self.kept))"),
    Bug("cache", "cache.py", "lost case", "Reading an entry does not count as using it: it is forgotten all the same.",
        "value = self.kept.pop(key)\n        self.kept[key] = value\n        return value", "return self.kept[key]"),
    Bug("settings", "settings.py", "wrong function", "A value that holds an = is cut: `rule = a = b` gives only b.",
        'line.partition("=")', 'line.rpartition("=")'),
    Bug("settings", "settings.py", "missing step", "Comments that are indented are read as settings.",
        "        line = line.strip()\n", ""),
    Bug("units", "units.py", "wrong data", "A foot is converted to 14 inches, it has 12. Which table is wrong?",
        '"foot": 0.3048', '"foot": 0.3556'),
    Bug("units", "convert.py", "wrong operator", "convert(2, 'km', 'cm') is off by orders of magnitude.",
        "metres(value, unit) / METRES[into]", "metres(value, unit) * METRES[into]"),
]  # fmt: skip


def passed(files: dict[str, str]) -> int | None:
    """How many tests pass, or None if any fails."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (pathlib.Path(folder) / name).write_text(text)
        command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return int(done.stdout.splitlines()[-1].split()[0]) if done.returncode == 0 else None


def task(bug: Bug) -> dict:
    project = {file.name: file.read_text() for file in sorted((HERE / "projects" / bug.project).glob("*.py"))}
    assert project[bug.file].count(bug.right) == 1, bug
    broken = {**project, bug.file: project[bug.file].replace(bug.right, bug.wrong)}
    tests = passed(project)
    assert tests and passed(broken) is None, bug
    name = f"{bug.project}-{[other for other in BUGS if other.project == bug.project].index(bug) + 1}"
    return {"metadata": {"name": name, "kind": bug.kind, "issue": bug.issue, "files": broken, "tests": tests}}


def main() -> None:
    lines = [json.dumps(task(bug)) for bug in BUGS]
    (HERE / "tasks.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
