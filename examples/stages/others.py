"""The agents of the other examples, each from its own rollout file to a bundle.

Invariant: no reward is made up. What a rollout is set to here changes how much of it runs, never what an agent is paid.
"""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from carried import CHECKOUT, HERE, Stages, beside

# A client that waits without end for a reply: nothing but its task's own time bounds it.
PATIENT = ("--client-timeout", "100000")


@contextlib.contextmanager
def nothing(_: pathlib.Path) -> Iterator[dict[str, str]]:
    """An agent that needs nothing beside it."""
    yield {}


@contextlib.contextmanager
def calculator(_: pathlib.Path) -> Iterator[dict[str, str]]:
    """arithmetic's agent is built where the checkout is, once: a build elsewhere would begin anew."""
    if not (CHECKOUT / "target/debug/calculator-agent").is_file():
        subprocess.run(["cargo", "build", "-q", "-p", "calculator-agent"], cwd=CHECKOUT, check=True)
    yield {}


@contextlib.contextmanager
def central(root: pathlib.Path) -> Iterator[dict[str, str]]:
    """central's server, on a port of its own."""
    server = [sys.executable, str(root / "examples/central/server.py"), "--port", "0"]
    with subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield {"AGENT_SERVER": running.stdout.readline().split()[-1]}
        finally:
            running.terminate()


@contextlib.contextmanager
def rooms(_: pathlib.Path) -> Iterator[dict[str, str]]:
    """swe's agent runs commands in a room of this machine; where none can be made, as they are."""
    made = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--fork", "true"]
    closed = subprocess.run(made, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0
    yield {"SWE_ROOM": "open"} if closed else {}


@dataclass(frozen=True)
class Example:
    """An example: what its rollout is set to for a demonstration, what is declared of it, and its job."""

    name: str
    settings: tuple[str, ...] = ()
    """Beside what all of them have."""
    tasks: int = 2
    """What an assessment runs."""
    declared: tuple[str, ...] = PATIENT
    """What the machine cannot know, for `check`."""
    job: str = "{python} {here}/train.py 1 8"
    """`{python}` has the package, `{trainer}` torch, too; `{here}` is this folder, `{root}` the example's checkout."""
    needs: Callable[[pathlib.Path], contextlib.AbstractContextManager[dict[str, str]]] = nothing
    """What must be there while it runs: the agent's variables come from it."""


# A barrier, so that point 1 is looked at, and small steps, so that a job that needs one group whose rewards differ need
# not run the whole dataset.
ALL = ("rollout.batch=2", "rollout.barrier_seconds=300", "rollout.sink=auto")

EXAMPLES = [
    Example("arithmetic", ('agent.setup="true"',), needs=calculator),
    Example("central", (), declared=(*PATIENT, "--slots", "64"), needs=central),
    # Its SDK says itself how long it waits.
    Example("reasoning_gym", (), declared=()),
    Example("search", ("rollout.max_seq_len=4096",), declared=(*PATIENT, "--batching", "tokens")),
    Example(
        "swe",
        (
            "engine.kind=sim", "engine.model=smollm2-135m-instruct", "engine.sim_script={here}/swe.jsonl", "family.name=auto",
            "rollout.group_size=4",
        ),
        needs=rooms,
    ),
    Example(
        "train",
        ('agent.setup="true"',),
        job="{trainer} {root}/examples/train/train.py --steps 3",
        needs=calculator,
    ),
]


def carried(root: pathlib.Path, example: Example, python: str, trainer: str, bundle: pathlib.Path) -> dict[str, Any]:
    """An example's agent through the stages. Gives the demonstration's report."""
    folder = beside(root, example.name)
    words = {"python": python, "trainer": trainer, "here": str(HERE), "root": str(root)}
    settings = tuple(setting.format(**words) for setting in (*ALL, f"plugins.python={python}", *example.settings))
    with example.needs(root) as variables:
        stages = Stages(folder, variables, settings)
        stages.must("assess", "--tasks", str(example.tasks))
        stages.must("check", "--trainer", *example.declared)
        return stages.demonstrate(example.job.format(**words), bundle)
