"""What kind of difference it is, by rule; what each kind comes to is in docs/parity.md.

A difference may be of several kinds: one of reasoning, one of content, one of calls.
"""

import json
import pathlib
import re

DOC = pathlib.Path(__file__).resolve().parents[2] / "docs" / "parity.md"
OPENERS = ("<think>", "[THINK]", "<|channel|>analysis<|message|>")
HANGS = "hangs"


def kinds(family: str, text: str, whole: bool, ours: dict, theirs: dict, tools: list[dict]) -> list[str]:
    """Every kind of difference between two readings of one text; none where they are alike."""
    if "error" in ours:
        return ["we fail"]
    if "error" in theirs:
        return ["they hang" if theirs["error"] == HANGS else "they fail"]
    found = {
        _reasoning(text, ours, theirs),
        _content(text, ours, theirs),
        _calls(ours, theirs, {tool["function"]["name"] for tool in tools}),
    }
    found.discard(None)
    # A turn with nothing wrong in it may differ in spelling only.
    return sorted(f"{kind} (whole turn)" if whole and kind not in SPELLING else kind for kind in found)


SPELLING = {"spacing", "argument bytes", "unknown tool"}


def _squeeze(text: str | None) -> str:
    return "".join((text or "").split())


def _within(part: str, all_of_it: str) -> bool:
    """Whether a text is another with stretches left out."""
    rest = iter(all_of_it)
    return all(letter in rest for letter in part)


def _reasoning(text: str, ours: dict, theirs: dict) -> str | None:
    mine, other = ours["reasoning"] or "", theirs["reasoning"] or ""
    if mine == other:
        return None
    if _squeeze(mine) == _squeeze(other):
        return "spacing"
    if "ReasoningOpen" in ours["flaws"]:
        if _squeeze(mine).endswith(_squeeze(other)):
            return "reasoning: repeated opener"
        return "reasoning: open block ended by a call"
    opener = next((mark for mark in OPENERS if mark in text), None)
    if opener and not text.lstrip().startswith(opener) and not mine:
        return "reasoning: block not at the beginning"
    if mine and other and _squeeze(mine).replace(opener or "\0", "") == _squeeze(other).replace(opener or "\0", ""):
        return "reasoning: repeated opener"
    if not other:
        bare = mine.replace(opener or "\0", "")
        return "reasoning: they see none" if bare.strip() else "reasoning: repeated opener"
    if not mine:
        return "reasoning: we see none"
    return "reasoning: another border"


def _content(text: str, ours: dict, theirs: dict) -> str | None:
    mine, other = ours["content"], theirs["content"]
    if mine == other:
        return None
    mine, other = _squeeze(mine), _squeeze(other)
    if mine == other:
        return "spacing"
    flawed = [flaw for flaw in ours["flaws"] if flaw != "ReasoningOpen"]
    if "ReasoningOpen" in ours["flaws"]:
        return "content: after an open block"
    if flawed and _within(other, mine):
        return "content: malformed call lost"
    if flawed:
        return "content: malformed call read otherwise"
    if _within(other, mine):
        return "content: text lost"
    if _within(mine, other):
        return "content: marks left in the text"
    return "content: another text"


def _value(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _same(mine: object, other: object) -> bool:
    """Equal, and of the same types all the way down."""
    return json.dumps(mine, sort_keys=True) == json.dumps(other, sort_keys=True)


def _calls(ours: dict, theirs: dict, known: set[str]) -> str | None:
    read = [[(call["name"], call["arguments"]) for call in side["calls"]] for side in (ours, theirs)]
    if read[0] == read[1]:
        return None
    values = [[(name, _value(arguments)) for name, arguments in side] for side in read]
    if _same(*values):
        return "argument bytes"
    mine, other = ([call for call in side if call[0] in known] for side in values)
    if _same(mine, other):
        return "unknown tool"
    flawed = any(flaw != "ReasoningOpen" for flaw in ours["flaws"])
    if "ReasoningOpen" in ours["flaws"]:
        return "calls: after an open block"
    spelt = [[json.dumps(call, sort_keys=True) for call in side] for side in (mine, other)]
    beside = " beside a malformed one" if flawed else ""
    if _part(spelt[0], spelt[1]):
        return f"calls: more{beside}"
    if _part(spelt[1], spelt[0]):
        return f"calls: lost{beside}"
    if [name for name, _ in mine] == [name for name, _ in other]:
        return f"calls: {_values(mine, other)}{beside}"
    return f"calls: others{beside}"


def _part(some: list[str], all_of_them: list[str]) -> bool:
    rest = iter(all_of_them)
    return all(one in rest for one in some)


def _values(mine: list, other: list) -> str:
    """In what the arguments of the same calls differ."""
    differ = set()
    for (_, left), (_, right) in zip(mine, other, strict=True):
        if _same(left, right):
            continue
        if not isinstance(left, dict) or not isinstance(right, dict):
            differ.add("no object")
        elif left.keys() != right.keys():
            differ.add("other parameters")
        else:
            differ.update(_one(left[key], right[key]) for key in left if not _same(left[key], right[key]))
    return sorted(differ)[0] if len(differ) == 1 else "several"


def _one(left: object, right: object) -> str:
    if isinstance(left, str) and isinstance(right, str):
        return "spacing of a string" if left.strip() == right.strip() else "another string"
    if isinstance(left, str) != isinstance(right, str):
        return "type of a value"
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return "type of a number"
    return "another value"


def verdicts() -> dict[str, str]:
    """Each kind with its verdict, from the table of docs/parity.md."""
    if not DOC.exists():
        return {}
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", DOC.read_text(encoding="utf-8"), re.MULTILINE)
    return {kind: verdict.strip() for kind, verdict in rows}


def write(found: dict, engine: str, cases: int, seed: int) -> None:
    """The counts, as the table under this engine's heading in docs/parity.md."""
    every = sorted({kind for one in found.values() for kind in one["kinds"]})
    lines = [f"{cases:,} turns a family, seed {seed}.", "", "| Kind | " + " | ".join(found) + " |"]
    lines.append("|---" * (len(found) + 1) + "|")
    lines.append("| turns read | " + " | ".join(str(one["turns"]) for one in found.values()) + " |")
    for kind in every:
        lines.append(f"| {kind} | " + " | ".join(str(one["kinds"].get(kind, 0)) for one in found.values()) + " |")
    begin, end = f"<!-- {engine}: counts -->", f"<!-- {engine}: end -->"
    text = DOC.read_text(encoding="utf-8")
    head, rest = text.split(begin)
    DOC.write_text(head + begin + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1], encoding="utf-8")
