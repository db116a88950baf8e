"""What is asked of an engine that is at rest: probe, rollout, scores, planted mistakes."""
import json
import pathlib
import subprocess
from collections import Counter
from typing import Any

from . import rows as files
from .place import AGENT, BINARY, ROLLOUT, ROOT, WEIGHTS
from .processes import Failed
from .variants import Bound, Way

# Sessions with two turns at least that a full run must have.
SESSIONS = 20
# The most runs that may be added up to get them.
RUNS = 4
# Rows that the planted mistakes are put into.
PLANTED = 8
EMBEDDED = ("--engine", "embedded", "--model", str(WEIGHTS))


def verbatim(*arguments: str, timeout: float = 1800) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BINARY, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=timeout
    )


def probe(url: str) -> dict[str, Any]:
    """The probe's report; the engine must be ready."""
    done = verbatim("engine", "probe", url, "--json")
    if done.returncode != 0:
        raise Failed(f"engine probe ended with {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def rollout(url: str, way: Way, folder: pathlib.Path) -> dict[str, Any]:
    """Sessions of the example's agent, at temperature 1; what came of them, and their rows. How many turns a
    session takes is the model's choice, so that runs are added until enough have several."""
    rows: list[dict[str, Any]] = []
    for number in range(RUNS):
        rows += run(url, way, folder, number)
        told = figures(rows)
        if not way.sessions or told["sessions_of_several_turns"] >= SESSIONS:
            return {"rows": rows, "figures": told}
    raise Failed(f"only {told['sessions_of_several_turns']} of {told['sessions']} sessions have two turns")


def run(url: str, way: Way, folder: pathlib.Path, number: int) -> list[dict[str, Any]]:
    """The rows of one run."""
    out = folder / f"rollout-{number}"
    limit, size = (6, 4) if way.sessions else (2, 3)
    # An agent that is built already is not built again.
    setup = ("--set", 'agent.setup="true"') if AGENT.exists() else ()
    settings = ['rollout.format="jsonl"', "rollout.keep_at_least=1", "sampling.temperature=1.0"]
    settings.append(f'log.events="{folder / "events.jsonl"}"')
    done = verbatim(
        *("run", str(ROLLOUT), "--url", url, "--limit", str(limit), "--group-size", str(size)),
        *("--output", str(out), *setup, *(flag for setting in settings for flag in ("--set", setting)), *way.flags),
    )
    (folder / f"rollout-{number}.log").write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        raise Failed(f"run ended with {done.returncode}: {done.stdout}{done.stderr}")
    return files.read(*sorted(out.glob("*.jsonl")))


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    turns: Counter[str] = Counter()
    for row in rows:
        turns[row["session"]] = max(turns[row["session"]], len(row["turns"]))
    versions = Counter(version for row in rows for version, count in row["versions"] if version is not None)
    return {
        "sessions": len(turns),
        "sessions_of_several_turns": sum(count >= 2 for count in turns.values()),
        "turns": sum(turns.values()),
        "tokens": sum(len(files.sampled(row)) for row in rows),
        "logprob_kind": sorted({row["logprob_kind"] for row in rows}),
        "versions": sorted(versions),
    }


def verify(rows: pathlib.Path, bound: Bound, *engine: str) -> tuple[int, dict[str, Any] | str]:
    """The exit status and the report of `verbatim verify rows`, or what it said instead."""
    limits = ("--max-gap", str(bound.max), "--mean-gap", str(bound.mean))
    done = verbatim("verify", "rows", str(rows), "--json", *limits, *engine)
    try:
        return done.returncode, json.loads(done.stdout)
    except json.JSONDecodeError:
        return done.returncode, done.stderr.strip()


def holds(file: pathlib.Path, way: Way, bound: Bound, *engine: str) -> dict[str, Any]:
    """The gap of rows that must verify, token by token."""
    code, report = verify(file, bound, *engine)
    if isinstance(report, str):
        raise Failed(f"verify rows {file} ended with {code}: {report}")
    without = left_out(files.read(file), way)
    if code != 0 or report["missing"] != without or set(report["gaps"]) != {"raw"}:
        raise Failed(f"{file} does not verify ({' '.join(engine)}): {json.dumps(report)}")
    gap = report["gaps"]["raw"]
    return {"rows": report["rows"], "tokens": gap["tokens"], "mean": gap["mean"], "max": gap["max"], "without": without}


def left_out(rows: list[dict[str, Any]], way: Way) -> int:
    """How many sampled tokens have no logprob. Where an engine leaves some out, they must be parts of
    characters, and carry no loss."""
    spelling = files.Spelling()
    without = [(row, at) for row in rows for at in files.sampled(row) if row["logprobs"][at] is None]
    if without and not way.leaves_out:
        raise Failed(f"{len(without)} sampled tokens have no logprob")
    for row, at in without:
        if row["loss_mask"][at] or spelling.is_whole(row["tokens"][at]):
            raise Failed(f"token {at} of session {row['session']} has no logprob")
    return len(without)


def noticed(rows: pathlib.Path, bound: Bound, *engine: str) -> str:
    """How a planted mistake was noticed; it must be."""
    code, report = verify(rows, bound, *engine)
    if code == 0:
        raise Failed(f"the mistake planted in {rows} was not noticed: {json.dumps(report)}")
    if isinstance(report, str):
        return f"refused: {report}"
    gap = report["gaps"]["raw"]
    return f"FAIL (mean {gap['mean']:.1e}, max {gap['max']:.1f})"


def planted(rows: list[dict[str, Any]], folder: pathlib.Path, bound: Bound, *engine: str) -> dict[str, str]:
    """Two mistakes in a few rows, and how each was noticed."""
    vocabulary = json.loads((WEIGHTS / "config.json").read_text())["vocab_size"]
    few = sorted(rows, key=lambda row: -len(files.sampled(row)))[:PLANTED]
    shift = files.write(files.shifted(few), folder / "shifted.jsonl")
    change = files.write(files.one_id_changed(few, vocabulary), folder / "changed.jsonl")
    return {"shift": noticed(shift, bound, *engine), "id": noticed(change, bound, *engine)}
