"""The stages as a user goes through them: an agent to a bundle that says PASS, and planted mistakes to their verdicts."""
from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from server import BINARY

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples/stages"


def script() -> Any:
    """examples/stages/run as a module, its neighbours found as they are by the script itself."""
    # Last: other examples have modules of the same names.
    sys.path.append(str(EXAMPLE))
    loader = importlib.machinery.SourceFileLoader("stages_run", str(EXAMPLE / "run"))
    spec = importlib.util.spec_from_loader("stages_run", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["stages_run"] = module
    loader.exec_module(module)
    carried = sys.modules["carried"]
    carried.BINARY = str(BINARY)  # type: ignore[attr-defined]
    return module


RUN = script()


def replay(bundle: pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(BINARY), "demonstrate", "--replay", str(bundle)], capture_output=True, text=True)


def test_an_agent_goes_through_all_stages_to_a_bundle_that_anybody_can_judge_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    bundle = tmp_path / "bundle"
    told = RUN.sound(tmp_path / "sound", sys.executable, bundle)
    assert told["verdict"] == "PASS" and told["forced"] is None
    assert [point["verdict"] for point in told["points"]] == ["PASS"] * 7 + ["N/A"] * 2, told
    names = {path.name for path in bundle.iterdir()}
    assert names == {
        "report.md", "report.html", "report.json", "events.jsonl", "rows", "rollout.toml", "evidence.json",
        "check.json", "assess.json", "versions.json", "hashes.json",
    }
    # A bundle that was touched is none.
    assert replay(bundle).returncode == 0
    log = bundle / "events.jsonl"
    kept = log.read_text()
    log.write_text(kept.replace('"reward":1.0', '"reward":0.0'))
    touched = replay(bundle)
    assert touched.returncode != 0 and "events.jsonl was changed" in touched.stderr, touched
    # Nor is one whose hashes were made to fit: its evidence gives other verdicts than its report.
    hashes = json.loads((bundle / "hashes.json").read_text())
    hashes["events.jsonl"] = hashlib.sha256(log.read_bytes()).hexdigest()
    (bundle / "hashes.json").write_text(json.dumps(hashes))
    forged = replay(bundle)
    assert forged.returncode != 0 and "does not give the verdicts" in forged.stderr, forged
    diagnosed = subprocess.run([str(BINARY), "diagnose", str(bundle)], capture_output=True, text=True)
    assert diagnosed.returncode == 0 and "none: every group" in diagnosed.stdout, diagnosed.stdout


def test_an_agent_that_has_no_rollout_file_yet_is_bridged_and_comes_to_a_pass(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    told = RUN.bridged(tmp_path / "agent", sys.executable, tmp_path / "bundle")
    assert told["verdict"] == "PASS", told


def test_every_example_has_its_way_through_the_stages() -> None:
    folders = {path.parent.name for path in (ROOT / "examples").glob("*/rollout.toml")}
    assert folders == {"stages", *(example.name for example in RUN.EXAMPLES)}


@pytest.mark.parametrize("fault", RUN.FAULTS, ids=lambda fault: fault.name)
def test_a_planted_mistake_is_seen_by_its_stage_with_the_way_out(fault: Any, tmp_path: pathlib.Path) -> None:
    assert RUN.planted(tmp_path / "planted", fault)


def test_a_forced_run_is_never_a_pass_and_a_change_makes_stages_stale(tmp_path: pathlib.Path) -> None:
    stages = RUN.Stages(tmp_path / "agent", {})
    status, report = stages.stage("demonstrate", "--force", "--tasks", "1", "--json")
    told = json.loads(report[: report.rindex("}") + 1])
    assert status != 0 and told["forced"] == "it was never checked" and told["verdict"] != "PASS", report
    stages.must("assess", "--tasks", "12")
    stages.must("check")
    agent = tmp_path / "agent" / "agent.py"
    agent.write_text(agent.read_text() + "\n# another agent\n")
    status, report = stages.stage("stage")
    text = " ".join(report.split())
    assert status != 0 and "Current stage: A" in text and "stale (agent changed)" in text, report
    status, report = stages.stage("demonstrate")
    assert status != 0 and "its check is stale (agent changed)" in report, report
