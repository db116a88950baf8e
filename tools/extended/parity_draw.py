"""What models write, drawn at random: whole turns, and turns with a few things wrong.

A seed gives the same turns everywhere. Nothing here knows how a format is parsed.
"""

import json
import random
import re

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather in a city",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": "integer"},
                    "factor": {"type": "number"},
                    "detailed": {"type": "boolean"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["city"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "send",
            "description": "Send a message",
            "parameters": {
                "type": "object",
                "properties": {"to": {"type": "string"}, "body": {"type": "object"}},
            },
        },
    },
]

WORDS = ["Oslo", "is", "mild", "false", "12", "café", "天気", "😀", "a<b", "{x}", '"so"', "\\n", "it's", "null", "1.50"]


def sentence(draw: random.Random, least: int = 1) -> str:
    words = [draw.choice(WORDS) for _ in range(draw.randint(least, 7))]
    text = draw.choice([" ", " ", " ", "\n", "\n\n"]).join(words)
    return text.strip()


def arguments(draw: random.Random, name: str) -> dict:
    if name == "send":
        body = {"a": draw.choice([1, None, True, "x y", [1, 2], {"b": sentence(draw)}])}
        return {"to": sentence(draw), "body": body} if draw.random() < 0.9 else {}
    given = {"city": sentence(draw)}
    more = {
        "days": draw.choice([0, 3, -7, 12345678901234567890]),
        "factor": draw.choice([1.5, 2, -0.25, 1e30]),
        "detailed": draw.random() < 0.5,
        "tags": [sentence(draw) for _ in range(draw.randint(0, 2))],
    }
    for key, value in more.items():
        if draw.random() < 0.3:
            given[key] = value
    return given


def message(draw: random.Random, thinks: bool, family: str) -> dict:
    """A message as the session server keeps it."""
    said = {"role": "assistant", "content": "absent"}
    if thinks and draw.random() < 0.85:
        said["reasoning"] = sentence(draw)
    calls = []
    for at in range(draw.choice([0, 1, 1, 1, 2, 3])):
        name = "unknown_tool" if draw.random() < 0.03 else draw.choice(["get_weather", "send"])
        spelt = draw.choice([None, (",", ":")])
        text = json.dumps(arguments(draw, name), ensure_ascii=draw.random() < 0.2, separators=spelt)
        ident = f"functions.{name}:{at}" if family.startswith("kimi") else f"call{at:05}"
        calls.append({"id": ident, "name": name, "arguments": {"text": text}})
    if calls:
        said["tool_calls"] = calls
    if not calls or draw.random() < 0.5:
        said["content"] = {"text": sentence(draw)}
    return said


def as_sampled(draw: random.Random, text: str) -> str:
    """A turn in harmony with its calls' headers as a model samples them: the recipient after the channel, and a
    mark before what the text is. History has them in the other order; one turn in five keeps that."""
    if draw.random() < 0.2:
        return text
    header = r" to=(functions\.[^<]*)<\|channel\|>commentary json<\|message\|>"
    return re.sub(header, r"<|channel|>commentary to=\1 <|constrain|>json<|message|>", text)


FRAGMENTS = [
    "\n", " ", "\n\n", "{", "}", '"', ",", ":", "[", "]", "\\", "<", ">", "</", "x", "é", "null", "true",
    '{"name": "send", "arguments": {}}', '{"name": "send", "parameters": {}}', "get_weather", "\u00a0",
]  # fmt: skip


def mutate(draw: random.Random, text: str, marks: list[str]) -> str:
    """One to three things go wrong; near a mark more often than chance has it."""
    for _ in range(draw.choice([1, 1, 2, 3])):
        places = [at for mark in marks for at in _found(text, mark)]
        near = bool(places) and draw.random() < 0.5
        at = draw.choice(places) if near else draw.randint(0, len(text))
        length = draw.choice([1, 1, 2, 5, 20])
        match draw.randrange(7):
            case 0:
                text = text[:at] + text[at + length :]
            case 1:
                text = text[: at + length] + text[at:]
            case 2:
                text = text[:at] + draw.choice(marks) + text[at:]
            case 3:
                text = text[:at] + draw.choice(FRAGMENTS) + text[at:]
            case 4:
                text = text[:at]
            case 5:
                mark = draw.choice(marks)
                text = text.replace(mark, "", 1)
            case 6:
                to = draw.randint(0, len(text))
                text = text[:to] + text[at : at + 3 * length] + text[to:]
    return text


def _found(text: str, mark: str) -> list[int]:
    at, places = text.find(mark), []
    while at >= 0:
        places += [at, at + len(mark)]
        at = text.find(mark, at + 1)
    return places
