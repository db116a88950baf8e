"""Real agents, live, against `verbatim serve` with the simulated engine.

Each is given the same small task (roster.py): look in two places, one after the other, and say what was found. The engine
samples a model family's ids, and the family's parser reads them. Each agent runs three times: in a tree; in a line; and in a
tree behind a proxy that lets the connection of its second turn die (flaky.py). Of each run in a tree this is checked: the
agent ended well and said what it found; every row that its session yields holds the engine's own logprobs
(`verbatim verify rows`); and a turn whose connection died was sampled once. What it did on the way - turns, roots, what was
respelt, what it makes of a line and of a dead connection - is the table of docs/src/agents.md.

usage: tools/extended/agents/run [AGENT...]; with names, the table is not written.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import table
from flaky import Flaky
from roster import AGENTS, FOUND, NODE, PYTHON, TASK, command

CACHE = Path(os.environ["VERBATIM_CACHE"])
VERBATIM = os.environ["VERBATIM_BIN"]
MODEL = ["--engine", "sim", "--model", str(CACHE / "assets/tokenizer-qwen3"), "--family", "qwen3"]
# Slow enough that a reply is under way when its connection dies.
SLOW_US, DIES_AFTER = 10_000, 0.1


def ask(url: str, method: str = "GET", body: dict | None = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method, headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.read()


def served(home: Path, rules: list[dict], lineage: str, token_us: int) -> tuple[subprocess.Popen, str]:
    (home / "script.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    settings = [
        f'engine.sim_script="{home}/script.jsonl"', f"engine.sim_token_us={token_us}", "engine.max_context=262144",
        'server.listen="127.0.0.1:0"', f'log.events="{home}/events.jsonl"', f'sessions.lineage="{lineage}"',
    ]
    flags = [flag for setting in settings for flag in ("--set", setting)]
    log = (home / "serve.log").open("w")
    server = subprocess.Popen([VERBATIM, "serve", *MODEL, *flags], stdout=subprocess.PIPE, stderr=log, text=True)
    for line in server.stdout:
        for word in line.split():
            if word.startswith("http://"):
                return server, word.rstrip("/.,")
    raise RuntimeError((home / "serve.log").read_text())


def version(package: str) -> str:
    manifest = NODE.parent / package / "package.json"
    if manifest.exists():
        return json.loads(manifest.read_text())["version"]
    told = subprocess.run([PYTHON, "-c", f"from importlib.metadata import version; print(version({package!r}))"],
                          capture_output=True, text=True, check=True)
    return told.stdout.strip()


def facts(home: Path) -> dict:
    """What the event log says of the run."""
    events = [json.loads(line) for line in (home / "events.jsonl").read_text().splitlines()]
    turns = [event for event in events if event["event"] == "turn_committed"]
    lost: dict[str, list] = {}
    for event in events:
        if event["event"] == "lost":
            lost.setdefault(event["cause"], []).append((event.get("detail") or "", event.get("count") or 1))
    return {"turns": len(turns), "roots": sum(turn["parent"] is None for turn in turns), "lost": lost}


def environment(base: str, token: str, home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", "LANG": "C.UTF-8",
        "OPENAI_BASE_URL": f"{base}/v1", "OPENAI_API_BASE": f"{base}/v1", "OPENAI_API_KEY": token,
        "ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": token, "AGENT_TASK": TASK,
        "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_SILENT_STARTUP": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_AGENTS_DISABLE_TRACING": "1", "IS_SANDBOX": "1",
        "NO_PROXY": "127.0.0.1",
    }


def run(agent, lineage: str, dies: int = 0) -> dict:
    """One run; `dies` is the turn whose connection dies."""
    home = Path(tempfile.mkdtemp(prefix="agent-"))
    (home / "work").mkdir()
    server, url = served(home, agent.says, lineage, SLOW_US if dies else 0)
    flaky = None
    try:
        token = json.loads(ask(f"{url}/sessions", "POST", {}))["session_id"]
        base = f"{url}/sessions/{token}"
        told = base
        if dies:
            host, port = url.removeprefix("http://").split(":")
            flaky = Flaky((host, int(port)), dies, DIES_AFTER)
            told = f"http://{flaky.address}/sessions/{token}"
        began = time.monotonic()
        ended = subprocess.run(command(agent, told, token, home), cwd=home / "work",
                               env=environment(told, token, home), stdin=subprocess.DEVNULL, capture_output=True,
                               text=True, timeout=240, check=False)
        took = time.monotonic() - began
        said = ended.stdout + ended.stderr
        rows = home / "rows.safetensors"
        rows.write_bytes(ask(f"{base}/samples", "POST", {"format": "safetensors", "pick": "all"}))
        verified = subprocess.run([VERBATIM, "verify", "rows", str(rows), *MODEL], capture_output=True, text=True,
                                  check=False)
        result = {**facts(home), "well": ended.returncode == 0 and FOUND in said, "verified": verified.returncode == 0,
                  "again": flaky.told() if flaky else "", "seconds": took}
        if not (result["well"] and result["verified"]):
            result["why"] = (f"exit {ended.returncode}\n{said[-3000:]}\n{verified.stdout}{verified.stderr}\n"
                             f"{(home / 'serve.log').read_text()[-2000:]}")
        return result
    except subprocess.TimeoutExpired as late:
        said = b"".join(part for part in (late.stdout, late.stderr) if part)
        return {**facts(home), "well": False, "verified": False, "again": flaky.told() if flaky else "", "seconds": 240.0,
                "why": f"still running\n{said.decode(errors='replace')[-3000:]}"}
    finally:
        if flaky:
            flaky.close()
        server.terminate()
        server.wait()
        shutil.rmtree(home, ignore_errors=True)


def judge(tree: dict, flaky: dict) -> str | None:
    """What is wrong with an agent's runs."""
    for name, result in (("tree", tree), ("a dead connection", flaky)):
        gave_up = name != "tree" and result["again"] in ("gives up", "not seen")
        if not result["verified"] or not (result["well"] or gave_up):
            return f"{name}: {result.get('why', '')}"
    if flaky["again"].startswith("same body") and flaky["turns"] != tree["turns"]:
        return f"{flaky['turns']} turns with a dead connection, {tree['turns']} without"
    return None


def main() -> int:
    wanted = sys.argv[1:]
    rows = []
    agents = [agent for agent in AGENTS if not wanted or any(word in agent.name for word in wanted)]
    for agent in agents:
        tree, line, flaky = run(agent, "tree"), run(agent, "linear"), run(agent, "tree", dies=2)
        wrong = judge(tree, flaky)
        told = (f"{tree['turns']} turns, {tree['roots']} roots, {table.counted(tree['lost'])}; "
                f"{table.as_line(tree, line)}; {flaky['again']}; {tree['seconds']:.1f} s")
        print(f"{'FAIL' if wrong else 'ok  '} {agent.name}: {told}", flush=True)
        if wrong:
            print(wrong, file=sys.stderr, flush=True)
        else:
            rows.append(table.row(agent, version(agent.package), tree, line, flaky))
    if not wanted and len(rows) == len(agents):
        table.write(rows)
    return 0 if len(rows) == len(agents) else 1


if __name__ == "__main__":
    sys.exit(main())
