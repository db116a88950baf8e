#!/usr/bin/env python3
"""Make what the gateway's tests replay of recordings of agents.

usage: tools/wire/compact.py RECORDINGS OUTPUT

A recording is a file of JSON lines, one a model request: {"request": {"path", "headers", "body"}, "reply": {"content",
"reasoning", "calls", "status"}}. What decides lineage stays: roles, the order of messages, ids, calls, what the agent made
of replies, headers that name sessions and tries. Long texts become their beginning and a hash, schemas their hash: nothing
that somebody wrote is kept, and what differed still differs.
"""
import hashlib
import json
import pathlib
import sys
from typing import Any

HEADERS = (
    "x-stainless-retry-count", "idempotency-key", "session-id", "thread-id", "x-codex-window-id", "x-client-request-id",
    "x-claude-code-session-id", "x-claude-code-agent-id", "x-claude-code-parent-agent-id", "x-session-id",
    "x-parent-session-id",
)  # fmt: skip
LONG = 120
META = ("client_metadata", "metadata", "prompt_cache_key", "safety_identifier")


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def tool(declared: Any) -> Any:
    """A tool by its name and a hash of all that it says."""
    inner = declared.get("function", declared)
    short = {key: value for key, value in inner.items() if key in ("name", "type", "strict")}
    for key in inner:
        if key == "description":
            short[key] = digest(declared)
        elif key in ("parameters", "input_schema"):
            short[key] = {"type": "object"}
    return {"type": declared["type"], "function": short} if "function" in declared else short


def compact(value: Any, said: list[str]) -> Any:
    if isinstance(value, dict):
        # What a model wrote is compared as JSON: it stays whole.
        whole = ("arguments",) if "type" not in value or value["type"] != "tool_use" else ("input",)
        return {
            key: "…" if key in META else item if key in whole else compact(item, said) for key, item in value.items()
        }
    if isinstance(value, list):
        return [compact(item, said) for item in value]
    if isinstance(value, str) and len(value) > LONG and not any(text in value for text in said):
        return f"{value[:16]}… {digest(value)}"
    return value


def shorten(line: dict[str, Any], said: list[str]) -> dict[str, Any]:
    asked, reply = line["request"], line.get("reply") or {}
    body = dict(asked["body"])
    tools = body.pop("tools", None)
    body = compact(body, said)
    if tools is not None:
        body["tools"] = [tool(declared) for declared in tools]
    headers = {name: value for name, value in asked["headers"].items() if name.lower() in HEADERS}
    kept = {key: reply[key] for key in ("content", "reasoning", "calls", "status", "_id") if reply.get(key)}
    return {"path": asked["path"].split("?")[0], "headers": headers, "body": body, "reply": kept}


def main() -> None:
    source, target = map(pathlib.Path, sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        replies = [line.get("reply") or {} for line in lines]
        texts = [text for reply in replies for text in (reply.get("content"), reply.get("reasoning")) if text]
        said = [text for text in texts if len(text) > 5]
        said += [call[0] for reply in replies for call in reply.get("calls") or [] if len(call[0]) > 8]
        shown = [json.dumps(shorten(line, said), ensure_ascii=False) for line in lines]
        (target / path.name).write_text("\n".join(shown) + "\n")


if __name__ == "__main__":
    main()
