"""The agents: what each is told, what the simulated engine says to it, and how it is started.

What is to be said comes from a script that goes by the prompt alone (`engine.sim_script`), so that retries and side calls get
what belongs to them: look north, then south, then tell. Each agent calls its own tool for that.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = os.environ["AGENTS_PYTHON"]
NODE = Path(os.environ["AGENTS_NODE"]) / "node_modules" / ".bin"
FOUND = "FOUND-COPPER and FOUND-AMBER"

# What each tool call looks like: the name of the agent's own tool, and its argument.
LOOK = ("look", lambda place: {"place": place})
SHELL = {"north": "printf 'FOUND-%s' COPPER", "south": "printf 'FOUND-%s' AMBER"}


def shell(name: str, key: str, **more: str):
    return name, lambda place: {key: SHELL[place], **more}


def script(call, last: dict) -> list[dict]:
    """Look north, then south, then `last`. Before each step the prompt holds what the step before found."""
    name, arguments = call
    step = lambda place: [{"name": name, "arguments": arguments(place)}]
    return [
        {"when": ["north, then south"], "reasoning": "North is first.", "content": "I look.", "calls": step("north")},
        {"when": ["north, then south", "FOUND-COPPER"], "reasoning": "Now south.", "calls": step("south")},
        {"when": ["north, then south", "FOUND-COPPER", "FOUND-AMBER"], **last},
    ]


def fenced(open_: str, close: str, of) -> list[dict]:
    """The same for agents without tools, which read code out of the text."""
    code = lambda text: f"{open_}\n{text}\n{close}"
    return [
        {"when": ["north, then south"], "reasoning": "North.", "content": "THOUGHT: north. \n" + code(of("north"))},
        {"when": ["north, then south", "FOUND-COPPER"], "content": "THOUGHT: south.\n" + code(of("south"))},
        {"when": ["north, then south", "FOUND-COPPER", "FOUND-AMBER"], "content": "THOUGHT: done.\n" + code(of("end"))},
    ]


SAID = {"content": f"I found {FOUND}."}
PLAIN = script(LOOK, SAID)
MINI = script(shell("bash", "command"), {
    "content": "Done.",
    "calls": [{"name": "bash", "arguments": {
        "command": f"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo {FOUND}"}}],
})
CODE = fenced("<code>", "</code>", lambda place: (
    f"final_answer('{FOUND}')" if place == "end" else f"print(look('{place}'))"))

TASK = "Look north, then south, with your tools, one after the other, and tell me what you found."


@dataclass(frozen=True)
class Agent:
    """An agent as it is run."""

    name: str
    # Whose version is told.
    package: str
    dialect: str
    streams: str
    # What the engine says to it.
    says: list[dict]
    # Its arguments for python_agents.py, or its command's name.
    kind: tuple[str, ...] | str


AGENTS = [
    Agent("openai SDK", "openai", "chat", "no", PLAIN, ("openai_chat",)),
    Agent("openai SDK, streaming", "openai", "chat", "yes", PLAIN, ("openai_stream",)),
    Agent("openai SDK, Responses", "openai", "Responses", "yes", PLAIN, ("openai_responses",)),
    Agent("anthropic SDK", "anthropic", "Messages", "no", PLAIN, ("anthropic",)),
    Agent("anthropic SDK, streaming", "anthropic", "Messages", "yes", PLAIN, ("anthropic_stream",)),
    Agent("mini-swe-agent", "mini-swe-agent", "chat", "no", MINI, ("mini",)),
    Agent("OpenAI Agents SDK", "openai-agents", "chat", "no", PLAIN, ("openai_agents", "chat")),
    Agent("OpenAI Agents SDK, Responses", "openai-agents", "Responses", "yes", PLAIN, ("openai_agents", "responses")),
    Agent("pydantic-ai", "pydantic-ai-slim", "chat", "no", PLAIN, ("pydantic", "chat")),
    Agent("pydantic-ai, Messages", "pydantic-ai-slim", "Messages", "no", PLAIN, ("pydantic", "messages")),
    Agent("LangChain `create_agent`", "langchain", "chat", "no", PLAIN, ("langchain",)),
    Agent("smolagents `CodeAgent`", "smolagents", "chat", "no", CODE, ("smolagents",)),
    Agent("Codex CLI", "@openai/codex", "Responses", "yes", script(shell("exec_command", "cmd"), SAID), "codex"),
    Agent("Claude Code", "@anthropic-ai/claude-code", "Messages", "yes",
          script(shell("Bash", "command", description="Look"), SAID), "claude"),
    Agent("opencode", "opencode-ai", "chat", "yes", script(shell("bash", "command", description="Look"), SAID), "opencode"),
]


def command(agent: Agent, url: str, token: str, home: Path) -> list[str]:
    kind = agent.kind
    if isinstance(kind, tuple):
        return [PYTHON, str(HERE / "python_agents.py"), *kind]
    if kind == "codex":
        provider = ('model_providers.v={name="v",base_url="%s/v1",env_key="OPENAI_API_KEY",wire_api="responses"}' % url)
        return [str(NODE / "codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
                "-c", provider, "-c", "model_provider=v", "-m", "policy", TASK]
    if kind == "claude":
        return [str(NODE / "claude"), "-p", TASK, "--model", "policy", "--allowedTools", "Bash",
                "--output-format", "text"]
    config = {
        "$schema": "https://opencode.ai/config.json", "autoupdate": False, "share": "disabled",
        "permission": {"bash": "allow", "edit": "deny"},
        "provider": {"v": {"npm": "@ai-sdk/openai-compatible", "name": "v",
                           "options": {"baseURL": f"{url}/v1", "apiKey": token},
                           "models": {"policy": {"name": "policy", "limit": {"context": 200000, "output": 4096}}}}},
    }
    (home / "work" / "opencode.json").write_text(json.dumps(config))
    return [str(NODE / "opencode"), "run", "-m", "v/policy", TASK]
