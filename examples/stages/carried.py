"""An agent on its way through the stages, in a folder of its own.

Invariant: no stage sees what another agent left, and nothing is written into the checkout.
"""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
BINARY = os.environ.get("VERBATIM_BIN", "verbatim")
LEFT_OUT = shutil.ignore_patterns(".verbatim", "__pycache__")


def cache() -> pathlib.Path:
    """The folder of models and virtual environments."""
    return pathlib.Path(os.environ.get("VERBATIM_CACHE", CHECKOUT / ".cache")).resolve()


class Stages:
    """A rollout file in a folder of its own, its settings, and its variables."""

    def __init__(
        self, folder: pathlib.Path, variables: dict[str, str], settings: tuple[str, ...] = (), source: pathlib.Path = HERE
    ) -> None:
        if not folder.exists():
            shutil.copytree(source, folder, ignore=LEFT_OUT)
        self.rollout = folder / "rollout.toml"
        self.settings = [f"--set={setting}" for setting in (f"engine.cache={cache()}", *settings)]
        self.environment = {**os.environ, "VERBATIM_BIN": str(BINARY), **variables}

    def stage(self, name: str, *flags: str) -> tuple[int, str]:
        """The exit status of a stage and its report, which fits a terminal."""
        return self.command(name, str(self.rollout), *self.settings, *flags)

    def command(self, *words: str) -> tuple[int, str]:
        """The exit status of any of the commands, and what it said."""
        done = subprocess.run([BINARY, *words], env=self.environment, capture_output=True, text=True)
        # JSON is for programs, and is not wrapped.
        report = [] if "--json" in words else done.stdout.splitlines()
        wide = [line for line in report if len(line) > 80]
        assert not wide, wide
        return done.returncode, done.stdout + done.stderr

    def must(self, name: str, *flags: str) -> str:
        """The report of a stage that has to pass."""
        status, report = self.stage(name, *flags)
        if status != 0:
            raise SystemExit(f"{name} did not pass:\n{report}")
        return report

    def demonstrate(self, job: str, bundle: pathlib.Path) -> dict[str, Any]:
        """The demonstration's report, whatever it comes to; its bundle is judged again, and must say the same."""
        _, said = self.stage("demonstrate", "--job", job, "--output", str(bundle))
        if not (bundle / "report.json").is_file():
            raise SystemExit(f"demonstrate wrote no bundle:\n{said}")
        told: dict[str, Any] = json.loads((bundle / "report.json").read_text())
        replayed = subprocess.run([BINARY, "demonstrate", "--replay", str(bundle), "--json"], stdout=subprocess.PIPE)
        assert json.loads(replayed.stdout) == told, replayed.stdout
        return told


def beside(root: pathlib.Path, name: str) -> pathlib.Path:
    """An example's folder, copied to where it stands in a checkout of links: it may name its neighbours."""
    (root / "examples").mkdir(parents=True)
    for entry in [*CHECKOUT.iterdir(), *(CHECKOUT / "examples").iterdir()]:
        place = root / entry.relative_to(CHECKOUT)
        if entry.name in ("examples", "rollouts", ".git", ".cache") or place == root / "examples" / name:
            continue
        place.symlink_to(entry)
    (root / ".cache").symlink_to(cache())
    shutil.copytree(CHECKOUT / "examples" / name, root / "examples" / name, ignore=LEFT_OUT)
    return root / "examples" / name


def joined(report: str) -> str:
    """A report's words, those on two lines joined."""
    return " ".join(report.split())
