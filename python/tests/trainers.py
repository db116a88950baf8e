"""Trainers' own classes, from their packages as PyPI has them, without what these depend on.

The packages need torch to be imported, 4.7 GB; what is read here does not. They are installed without dependencies
into the cache, 3 MB in all.
"""
from __future__ import annotations

import ast
import fcntl
import os
import pathlib
import subprocess
import sys
from typing import Any

PACKAGES = ("TransferQueue==0.1.11", "trl==1.16.0", "verl==0.9.1")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def installed() -> pathlib.Path:
    """The folder of the packages, filled at the first call."""
    cache = pathlib.Path(os.environ.get("VERBATIM_CACHE", ROOT / ".cache"))
    folder = cache / "trainers" / "-".join(PACKAGES).replace("==", "-")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), *PACKAGES]
            subprocess.run(pip, check=True)
            (folder / "done").touch()
    return folder


def source(file: str) -> ast.Module:
    """A file of the packages'."""
    return ast.parse((installed() / file).read_text())


def classes(file: str, *names: str) -> dict[str, Any]:
    """Pydantic classes of a file, built from their definitions and nothing else of it; methods are left out."""
    import typing

    import pydantic

    found = [node for node in source(file).body if isinstance(node, ast.ClassDef) and node.name in names]
    for node in found:
        node.body = [part for part in node.body if not isinstance(part, ast.FunctionDef)]
    space: dict[str, Any] = {**vars(typing), "BaseModel": pydantic.BaseModel, "__name__": "trainer"}
    exec(compile(ast.Module(found, []), file, "exec", dont_inherit=True), space)
    return {name: space[name] for name in names}


def function(file: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """A function or method of a file."""
    for node in ast.walk(source(file)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            return node
    raise LookupError(f"{file} has no {name}")
