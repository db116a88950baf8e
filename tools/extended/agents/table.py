"""The table of docs/src/agents.md that live runs make."""

from pathlib import Path

DOCS = Path(__file__).resolve().parents[3] / "docs/src/agents.md"
MARKS = ("<!-- live runs: begin -->", "<!-- live runs: end -->")
HEAD = ["Agent", "Version", "Dialect", "Streams", "Turns", "Lineage", "Counted", "As a line", "A dead connection"]


def lineage(result: dict) -> str:
    if result["roots"] == 1:
        return "linear, respelt" if "respelt" in result["lost"] else "linear, exact"
    return f"{result['roots']} roots"


def counted(lost: dict) -> str:
    """Causes, and of what: details once each."""
    told = []
    for cause, entries in sorted(lost.items()):
        details = sorted({f"`{detail}`" for detail, _ in entries if detail})
        told.append(f"{cause}: {', '.join(details)}" if details else f"{cause} {sum(count for _, count in entries)}")
    return "; ".join(told) or "nothing"


def as_line(tree: dict, line: dict) -> str:
    """What comes of `lineage = "linear"`."""
    dropped = sum(count for _, count in line["lost"].get("rolled_back", []))
    if not line["well"]:
        return "refused"
    return f"drops {dropped}" if dropped else "the same" if line["turns"] == tree["turns"] else f"{line['turns']} turns"


def row(agent, version: str, tree: dict, line: dict, flaky: dict) -> str:
    cells = [agent.name, version, agent.dialect, agent.streams, str(tree["turns"]), lineage(tree), counted(tree["lost"]),
             as_line(tree, line), flaky["again"]]
    return f"| {' | '.join(cells)} |"


def write(rows: list[str]) -> None:
    before, rest = DOCS.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    table = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD), *rows]
    DOCS.write_text("\n".join([before + MARKS[0], *table, MARKS[1] + after]))
