#!/usr/bin/env python3
"""mini-swe-agent on a small project with failing tests, rewarded by them.

Invariant: only a repair that the agent submitted is tested; what is not the agent's fault has no reward: the
process fails. However it ends, SIGTERM included, its place is closed before it is gone.

Its task is in $VERBATIM_INPUT_JSON, its model at $OPENAI_BASE_URL; `SWE_MODE=tools` calls a tool where `text`, the
default, writes commands in blocks.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import signal
import sys
from collections.abc import Iterator
from typing import Any

# Read when the packages are imported: no look-ups on the network, no set-up wizard; what the server refuses is
# refused at once.
os.environ.update(
    LITELLM_LOCAL_MODEL_COST_MAP="True",
    MSWEA_COST_TRACKING="ignore_errors",
    MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT="1",
    MSWEA_SILENT_STARTUP="1",
)

import litellm
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.exceptions import LimitsExceeded
from minisweagent.models.litellm_model import LitellmModel
from minisweagent.models.litellm_textbased_model import LitellmTextbasedModel
from place import Place, open_place
from score import repaired, score

STEPS, COMMAND_SECONDS = 8, 20.0
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
SYSTEM = {
    "text": "You repair small Python projects, one shell command at a time. Answer with a short thought and exactly one "
    "command, in a block:\n\n```mswea_bash_command\nsed -i 's/old/new/' FILE\n```",
    "tools": "You repair small Python projects, one shell command at a time. Answer with a short thought and one call.",
}
TASK = f"""Issue: {{{{task}}}}

The project is the current folder: {{{{files}}}}. Read the code first, then edit it, then run `python -m pytest -q`. When
all tests pass, submit: with `{SUBMIT}` as the only command."""
OBSERVATION = """<returncode>{{output.returncode}}</returncode>
<output>
{{output.output[-1500:]}}{{output.exception_info}}
</output>"""


class Shell(LocalEnvironment):
    """mini-swe-agent's environment, in a place."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place

    def execute(self, action: dict[str, Any], cwd: str = "", *, timeout: int | None = None) -> dict[str, Any]:
        try:
            said, status = self._place.run(action["command"], timeout or COMMAND_SECONDS)
            output = {"output": said, "returncode": status, "exception_info": ""}
        except TimeoutError as late:
            output = {"output": str(late), "returncode": -1, "exception_info": f"ended after {COMMAND_SECONDS:g} s"}
        self._check_finished(output)
        return output


class EndsAtLength:
    """Ends the run where a turn was cut: what follows would follow a close that the model never wrote."""

    def _parse_actions(self, response: Any) -> list[dict[str, Any]]:
        if response.choices[0].finish_reason == "length":
            raise LimitsExceeded({"role": "exit", "content": "", "extra": {"exit_status": "Length", "submission": ""}})
        actions: list[dict[str, Any]] = super()._parse_actions(response)  # type: ignore[misc]
        return actions


class Text(EndsAtLength, LitellmTextbasedModel):
    pass


class Tools(EndsAtLength, LitellmModel):
    pass


def work(place: Place, task: dict[str, Any], mode: str) -> str:
    """Lets the agent work, and gives its own word on how that ended."""
    model = {"text": Text, "tools": Tools}[mode](
        model_name="openai/policy",
        model_kwargs={"api_base": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]},
        observation_template=OBSERVATION,
    )
    agent = DefaultAgent(
        model, Shell(place), system_template=SYSTEM[mode], instance_template=TASK, step_limit=STEPS, cost_limit=0
    )
    try:
        return str(agent.run(task["issue"], files=", ".join(task["files"]))["exit_status"])
    except litellm.exceptions.ContextWindowExceededError:
        return "ContextWindowExceeded"


@contextlib.contextmanager
def opened(name: str) -> Iterator[Place]:
    place = open_place(name)
    try:
        yield place
    finally:
        # Who is told to end while it closes a place closes it first.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            place.close()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def leave(*_: object) -> None:
    """Ends the process by way of every `finally`; being told again changes nothing."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def run(task: dict[str, Any], name: str, mode: str) -> dict[str, Any]:
    """The result."""
    with opened(name) as place:
        place.put(task["files"])
        status = work(place, task, mode)
        files = repaired(place, task["files"]) if status == "Submitted" else None
    told = {"exit_status": status, "scored": files is not None}
    if files is None:
        return {"reward": 0.0, "metadata": told}
    # Only now: whoever holds a slot and waits for another one may wait for ever.
    with opened(f"{name}-tests") as fresh:
        scored = score(fresh, files, task["tests"])
    return {"reward": scored["reward"], "metadata": {**told, **scored["metadata"]}}


def main() -> None:
    signal.signal(signal.SIGTERM, leave)
    # A place's name goes to others; the session's is the key to its model.
    name = hashlib.sha256(os.environ["VERBATIM_SESSION_ID"].encode()).hexdigest()[:16]
    task = json.loads(pathlib.Path(os.environ["VERBATIM_INPUT_JSON"]).read_text())["metadata"]
    result = run(task, name, os.environ.get("SWE_MODE", "text"))
    pathlib.Path(os.environ["VERBATIM_OUTPUT_JSON"]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
