"""Multi-turn runs of real agents, each against a session that it knows as an OpenAI server.

A run gives the agent's own word on how it ended. The small model decides what happens, so that a
run may end at its step limit; what counts is that turns were committed.
"""
import asyncio
import json
import os
import pathlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# Read when the packages are imported: no look-ups on the network, no set-up wizard, no retries that
# hide a refusal for minutes.
os.environ.update(
    LITELLM_LOCAL_MODEL_COST_MAP="True",
    MSWEA_COST_TRACKING="ignore_errors",
    MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT="1",
    MSWEA_SILENT_STARTUP="1",
    OPENAI_AGENTS_DISABLE_TRACING="1",
)

import agents
import litellm
import openai
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_textbased_model import LitellmTextbasedModel

from server import Session

litellm.suppress_debug_info = True


@dataclass
class Ended:
    """How a run ended, in the agent's words, and what its tools were asked."""

    status: str
    calls: list[Any] = field(default_factory=list)


Run = Callable[[Session, pathlib.Path, int], Ended]


def openai_sdk(session: Session, folder: pathlib.Path, seed: int) -> Ended:
    """A chat of three questions; the reply's message goes back as the SDK's object dumps it."""
    messages: list[dict[str, Any]] = []
    finish = ""
    with session.client() as client:
        for question in ("What is the capital of France?", "And of Italy?", "Which is larger?"):
            messages.append({"role": "user", "content": question})
            reply = client.chat.completions.create(
                model="policy", messages=messages, temperature=0.5, seed=seed, max_completion_tokens=400
            )
            finish = reply.choices[0].finish_reason
            messages.append(reply.choices[0].message.model_dump(exclude_none=True))
            if finish != "stop":
                break
    return Ended(finish)


def anthropic_sdk(session: Session, folder: pathlib.Path, seed: int) -> Ended:
    """A chat of three questions; the blocks go back as the SDK holds them."""
    messages: list[dict[str, Any]] = []
    stopped: str | None = ""
    with session.anthropic() as client:
        for question in ("What is the capital of France?", "And of Italy?", "Which is larger?"):
            messages.append({"role": "user", "content": question})
            more = {"temperature": 0.5, "seed": seed}
            reply = client.messages.create(
                model="policy", system="Be brief.", messages=messages, max_tokens=400, extra_body=more
            )
            stopped = reply.stop_reason
            messages.append({"role": "assistant", "content": reply.content})
            if stopped != "end_turn":
                break
    return Ended(str(stopped))


def openai_responses(session: Session, folder: pathlib.Path, seed: int) -> Ended:
    """A chat of three questions, each of which names the reply before."""
    before: dict[str, str] = {}
    status = ""
    with session.strict() as client:
        for question in ("What is the capital of France?", "And of Italy?", "Which is larger?"):
            reply = client.responses.create(
                model="policy", input=question, temperature=0.5, max_output_tokens=200, extra_body={"seed": seed}, **before
            )
            before, status = {"previous_response_id": reply.id}, str(reply.status)
            if status != "completed":
                break
    return Ended(status)


def openai_agents(session: Session, folder: pathlib.Path, seed: int) -> Ended:
    """An agent with a function tool, over chat."""
    return adding(session, seed, agents.OpenAIChatCompletionsModel)


def openai_agents_responses(session: Session, folder: pathlib.Path, seed: int) -> Ended:
    """The same agent over Responses, which is its default."""
    return adding(session, seed, agents.OpenAIResponsesModel)


def adding(session: Session, seed: int, speaking: Any) -> Ended:
    """An agent that finds its tool's earlier calls in its history."""
    calls: list[tuple[int, int]] = []

    @agents.function_tool
    def add(a: int, b: int) -> str:
        """Adds two numbers."""
        calls.append((a, b))
        return f"{a} + {b} = {a + b}"

    history: list[Any] = []
    for at, (a, b) in enumerate([(2, 3), (10, 7), (4, 4)]):
        call = {"type": "function_call", "call_id": f"shown-{at}", "name": "add"}
        output = {"type": "function_call_output", "call_id": f"shown-{at}", "output": f"{a} + {b} = {a + b}"}
        question = {"role": "user", "content": f"What is {a} + {b}?"}
        history += [question, {**call, "arguments": json.dumps({"a": a, "b": b})}, output]
    history.append({"role": "user", "content": "What is 4 + 5?"})

    async def run() -> Ended:
        async with openai.AsyncOpenAI(base_url=session.base_url, api_key=session.token) as client:
            adder = agents.Agent(
                name="adder",
                instructions="Use the tool add.",
                model=speaking(model="policy", openai_client=client),
                tools=[add],
                model_settings=agents.ModelSettings(temperature=0.5, max_tokens=80, extra_body={"seed": seed}),
            )
            try:
                result = await agents.Runner.run(adder, history, max_turns=4)
            except agents.MaxTurnsExceeded as limit:
                return Ended(type(limit).__name__, calls)
            return Ended(f"final output: {result.final_output}", calls)

    return asyncio.run(run())


class Harmless(LocalEnvironment):
    """Runs what cannot do harm and refuses the rest as a shell would."""

    def execute(self, action: dict, cwd: str = "", *, timeout: int | None = None) -> dict[str, Any]:
        command = action["command"].strip()
        if re.fullmatch(r"pwd|ls|date|echo [\w ]*", command):
            return super().execute(action, cwd, timeout=timeout)
        return {"output": "not permitted", "returncode": 126, "exception_info": ""}


def mini_swe_agent(session: Session, folder: pathlib.Path, seed: int) -> Ended:
    """The text mode: commands in fenced blocks, their output in the next message."""
    model = LitellmTextbasedModel(
        model_name="openai/policy",
        model_kwargs={
            "api_base": session.base_url,
            "api_key": session.token,
            "temperature": 0.5,
            "max_tokens": 200,
            "seed": seed,
            "stop": ["```\n\n"],
        },
        action_regex=r"```\w*\n(.*?)(?:\n|\Z)",
        observation_template="Output:\n{{output.output}}\nNow the next command.",
    )
    agent = DefaultAgent(
        model,
        Harmless(cwd=str(folder), timeout=5),
        system_template="You answer with one shell command in a block, like this:\n```bash\nls\n```",
        instance_template="{{task}}",
        step_limit=4,
    )
    try:
        status = agent.run("Which day is it? Use the command date:\n```bash\ndate\n```")["exit_status"]
    except litellm.exceptions.APIError as refused:
        # What it is told depends on the day, and so does whether a later turn is cut; a tree extends no cut turn.
        if "cut by its length limit" not in str(refused):
            raise
        status = "TurnCut"
    return Ended(status)


RUNS: dict[str, Run] = {
    "openai-sdk": openai_sdk,
    "openai-responses": openai_responses,
    "anthropic-sdk": anthropic_sdk,
    "openai-agents": openai_agents,
    "openai-agents-responses": openai_agents_responses,
    "mini-swe-agent": mini_swe_agent,
}
