"""The package's types and style."""
from __future__ import annotations

import os
import subprocess
import sys

import pytest

from server import ROOT

TYPES = ("mypy", "--no-error-summary", "--cache-dir", os.devnull, "verbatim")
STYLE = ("ruff", "check", "--no-cache", "-q", "verbatim", "hatch_build.py")


@pytest.mark.parametrize("command", [TYPES, STYLE], ids=["types", "style"])
def test_nothing_is_found(command: tuple[str, ...]) -> None:
    asked = [sys.executable, "-m", *command]
    done = subprocess.run(asked, cwd=ROOT / "python", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
