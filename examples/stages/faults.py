"""Mistakes that are planted, each to be seen by its stage."""
from __future__ import annotations

import pathlib
from dataclasses import dataclass, field

from carried import Stages, joined


@dataclass(frozen=True)
class Fault:
    """A mistake: what plants it, the stage that must see it, and what its report must say."""

    name: str
    stage: str
    says: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


FAULTS = [
    Fault(
        "arguments are respelt, and the matcher is strict", "assess",
        ("NEEDS_CHANGES", "accidental branches", "serialisation_drift", "loose_replay"),
        {"AGENT_FAULT": "respell"}, ("sessions.matcher=strict",),
    ),
    Fault(
        "a tool returns an empty string", "assess",
        ("NEEDS_CHANGES", "a tool's result is empty", "let the tool say that there is no output"),
        {"AGENT_FAULT": "silent"},
    ),
    Fault(
        "too few slots", "check",
        ("UNSAFE", "8 slots are needed, and there are 2", "give it 8 slots"),
        flags=("--slots", "2"),
    ),
    Fault(
        "the client gives up after 30 s, and groups are prelaunched", "check",
        ("UNSAFE", "gives up after 30 s", "let the client wait 600 s or longer"),
        {"AGENT_TIMEOUT": "30"}, ("rollout.prelaunch=true",),
    ),
]


def planted(folder: pathlib.Path, fault: Fault) -> str:
    """The report of the stage that must see a mistake; fails if it does not."""
    stages = Stages(folder, fault.variables, fault.settings)
    status, report = stages.stage("assess", "--tasks", "12")
    if fault.stage == "check":
        assert status == 0, report
        status, report = stages.stage("check", "--trainer", *fault.flags)
    text = joined(report)
    missing = [words for words in fault.says if words not in text]
    if status == 0 or missing:
        raise SystemExit(f"{fault.name}: {fault.stage} does not say {missing}:\n{report}")
    # What did not pass is not run.
    status, refused = stages.stage("demonstrate")
    assert status != 0 and "verbatim check" in refused, refused
    return report
