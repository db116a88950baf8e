"""Puts the `verbatim` binary into the wheel.

The binary is the one that `VERBATIM_BIN` names, if it is set; else it is built with Cargo, in release mode.
"""
from __future__ import annotations

import os
import pathlib
import subprocess
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WORKSPACE = pathlib.Path(__file__).resolve().parent.parent


class BinaryHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the binary and says that the wheel is of this platform, for every Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is written; an editable one carries the binary too."""
        build_data["shared_scripts"] = {str(binary()): "verbatim"}
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"


def binary() -> pathlib.Path:
    """The binary, built if none is named."""
    named = os.environ.get("VERBATIM_BIN")
    if named:
        return pathlib.Path(named).resolve()
    if not (WORKSPACE / "crates/cli").exists():
        raise RuntimeError("the binary is built from the repository: install from there, or name one in VERBATIM_BIN")
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "verbatim-cli"], cwd=WORKSPACE, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    return WORKSPACE / target / "release/verbatim"
