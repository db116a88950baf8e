#!/usr/bin/env python3
"""An agent with one tool: it looks into a page, and says what it saw.

It needs Python's standard library alone. It knows an OpenAI-compatible server (OPENAI_BASE_URL, OPENAI_API_KEY), its
task in $VERBATIM_INPUT_JSON, and where its result goes: $VERBATIM_OUTPUT_JSON. Two variables of its own:

AGENT_TIMEOUT   seconds that its client waits for a reply; the client says so in a header, as OpenAI's SDK does
AGENT_FAULT     a mistake that it makes, for `run` to plant: `respell` sends a call's arguments back in other bytes,
                `silent` has a tool that says nothing
"""
import json
import os
import pathlib
import random
import urllib.request
from typing import Any

TIMEOUT = float(os.environ.get("AGENT_TIMEOUT", "900"))
FAULT = os.environ.get("AGENT_FAULT", "")
TURNS = 48
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Looks for a text in the page.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
}

Message = dict[str, Any]


def chat(messages: list[Message]) -> Message:
    """The model's next message."""
    # A seed of its own: a simulated engine says the same thing to the same question.
    body = {"model": "policy", "messages": messages, "tools": [TOOL], "seed": random.getrandbits(31)}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {
            "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
            "Content-Type": "application/json",
            "X-Stainless-Read-Timeout": f"{TIMEOUT:g}",
        },
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT) as reply:
        message: Message = json.load(reply)["choices"][0]["message"]
    return message


def look(page: str, arguments: str) -> str:
    """The tool: how often the words of a text stand in the page."""
    if FAULT == "silent":
        return ""
    try:
        words = str(json.loads(arguments)["text"]).split()
    except (ValueError, KeyError, TypeError) as problem:
        return f"error: {problem!r}"
    return ", ".join(f"{word}: {page.split().count(word)}" for word in words) or "nothing was asked"


def kept(message: Message) -> Message:
    """The message as it goes into the history: as it came."""
    if FAULT == "respell":
        for call in message.get("tool_calls") or []:
            arguments = json.loads(call["function"]["arguments"])
            call["function"]["arguments"] = json.dumps(arguments, indent=1)
    return message


def main() -> None:
    task = json.loads(pathlib.Path(os.environ["VERBATIM_INPUT_JSON"]).read_text())
    page: str = task["metadata"]["page"]
    messages: list[Message] = list(task["messages"])
    said = ""
    for _ in range(TURNS):
        message = chat(messages)
        messages.append(kept(message))
        calls = message.get("tool_calls") or []
        if not calls:
            said = message.get("content") or ""
            break
        for call in calls:
            result = look(page, call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    reward = float(any(word in page.split() for word in said.split()))
    result = {"reward": reward, "metadata": {"said": said}}
    # Whole or not at all: whoever reads it may come at any time.
    place = pathlib.Path(os.environ["VERBATIM_OUTPUT_JSON"])
    part = place.with_suffix(".part")
    part.write_text(json.dumps(result))
    part.rename(place)


if __name__ == "__main__":
    main()
