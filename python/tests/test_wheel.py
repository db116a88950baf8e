"""`pip install ./python`: a wheel with the package and the binary, in an environment of its own."""
from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import zipfile

import verbatim
from server import BINARY, ROOT
from verbatim.host.frames import read


def run(*command: str | pathlib.Path, **more: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **more}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_brings_the_command_and_the_host(tmp_path: pathlib.Path) -> None:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    options = ("wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path)
    run(*pip, *options, ROOT / "python", VERBATIM_BIN=str(pathlib.Path(BINARY).resolve()))
    [wheel] = tmp_path.glob("*.whl")
    assert re.fullmatch(r"verbatim-[\d.]+-py3-none-\w+_\w+\.whl", wheel.name) and "any" not in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert "verbatim/py.typed" in names and not any("test" in name for name in names)
    home = tmp_path / "home"
    run(sys.executable, "-m", "venv", "--without-pip", home)
    run(*pip, "--python", home / "bin/python", "install", "-q", "--no-deps", wheel)
    clean = {"PYTHONPATH": "", "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    assert run("verbatim", "--version", **clean) == run(BINARY, "--version")
    host = subprocess.Popen(
        [home / "bin/python", "-m", "verbatim.host"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, **clean},
    )
    assert host.stdin and host.stdout
    frame = read(host.stdout)
    assert frame is not None and frame[0]["hello"]["pid"] == host.pid
    host.stdin.close()
    assert host.wait(10) == 0


def test_the_versions_are_one() -> None:
    cargo = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)
    project = re.search(r'^version = "(.*)"', (ROOT / "python/pyproject.toml").read_text(), re.M)
    assert cargo and project and cargo[1] == project[1] == verbatim.__version__
