"""The same greedy conversation at two engines: where they part, and whether their arithmetic explains it."""
import json
import pathlib
from dataclasses import dataclass
from typing import Any

from . import rows as files
from .processes import Failed, Gateway, gateway
from .steps import EMBEDDED
from .variants import Bound
from .web import request

ASKED = (
    "Explain how a lighthouse works, step by step.",
    "Who was the first person to think of that?",
    "Write a short story about it.",
)
TOKENS = 160


@dataclass(frozen=True)
class Token:
    """A sampled token: its id, its logprob, and the most likely texts there with theirs."""

    id: int
    logprob: float
    top: tuple[tuple[str, float], ...]


def conversation(serving: Gateway) -> list[Token]:
    """All sampled tokens of one greedy conversation."""
    session = serving.open(lineage="linear")
    messages: list[dict[str, str]] = []
    top: dict[str, list[tuple[tuple[str, float], ...]]] = {}
    for asked in ASKED:
        messages.append({"role": "user", "content": asked})
        body = {"messages": messages, "max_completion_tokens": TOKENS, "temperature": 0, "logprobs": True, "top_logprobs": 5}
        reply = request(f"{session}/v1/chat/completions", body, timeout=900)
        if reply.status != 200:
            raise Failed(f"the conversation was refused: {reply.body.decode()}")
        completion = reply.json()
        choice = completion["choices"][0]
        top[completion["id"]] = [
            tuple((str(other["bytes"]), other["logprob"]) for other in token["top_logprobs"])
            for token in choice["logprobs"]["content"]
        ]
        messages.append({"role": "assistant", "content": choice["message"]["content"]})
    (row,) = files.lines(request(f"{session}/samples", {"format": "jsonl"}).body)
    return [
        Token(row["tokens"][at], row["logprobs"][at], others)
        for turn in row["turns"]
        for at, others in zip(range(turn["start"], turn["end"]), top[turn["response"]], strict=True)
    ]


def spoken(folder: pathlib.Path, name: str, *flags: str) -> list[Token]:
    with gateway(folder / f"{name}.log", *flags) as serving:
        return conversation(serving)


def embedded(folder: pathlib.Path) -> list[Token]:
    """The embedded engine's side, which is the same for every other."""
    return spoken(folder, "embedded", *EMBEDDED)


def margin(token: Token) -> float:
    """By how much the most likely token leads."""
    return token.top[0][1] - token.top[1][1]


def compare(ours: list[Token], theirs: list[Token], bound: Bound) -> dict[str, Any]:
    """The gap up to the first difference, and the explanation of that."""
    same = next((at for at, (a, b) in enumerate(zip(ours, theirs)) if a.id != b.id), min(len(ours), len(theirs)))
    gaps = [abs(a.logprob - b.logprob) for a, b in zip(ours[:same], theirs[:same])]
    if not gaps:
        raise Failed("the engines differ in the first token")
    if max(gaps) > bound.max or sum(gaps) / len(gaps) > bound.mean:
        raise Failed(f"logprobs differ by {max(gaps)}, by {sum(gaps) / len(gaps)} on average; {bound} is allowed")
    found = {
        "tokens": len(ours),
        "same": same,
        "mean": sum(gaps) / len(gaps),
        "max": max(gaps),
        "narrowest": min(margin(token) for token in ours[:same]),
        "first": None,
    }
    if same == len(ours) == len(theirs):
        return found
    return {**found, "first": parting(ours[same], theirs[same], max(gaps))}


def parting(ours: Token, theirs: Token, largest: float) -> dict[str, Any]:
    """Where two engines part, each must have the other's token as its second, closer to its first than
    twice what their logprobs differ by: then the difference is one of arithmetic."""
    (a, b), (c, d) = ours.top[:2], theirs.top[:2]
    crossed = a[0] == d[0] and b[0] == c[0]
    gap = max(abs(a[1] - d[1]), abs(b[1] - c[1])) if crossed else None
    found = {"ours": margin(ours), "theirs": margin(theirs), "gap": gap, "largest_before": largest}
    if gap is None or margin(ours) > 2 * max(gap, largest):
        raise Failed(f"the first differing token is not explained by arithmetic: {json.dumps(found)}")
    return found
