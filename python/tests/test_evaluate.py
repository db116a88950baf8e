"""Evaluation beside a rollout that a trainer drives."""
from __future__ import annotations

import json
import pathlib
import threading

import pytest

import verbatim
from test_rollout import events, rollout_file
from verbatim.errors import ApiError


def test_an_evaluation_runs_beside_a_step_and_counts_every_session(tmp_path: pathlib.Path) -> None:
    lines = (json.dumps({"input": f"question {at}", "metadata": {"number": at}}) for at in range(3))
    (tmp_path / "held_out.jsonl").write_text("".join(f"{line}\n" for line in lines))
    file = rollout_file(tmp_path)
    file.write_text(file.read_text() + '\n[[eval]]\nname = "held_out"\npath = "held_out.jsonl"\nsamples = 4\n')
    with verbatim.Rollout(file) as rollout:
        reports: list[dict] = []
        beside = threading.Thread(target=lambda: reports.append(rollout.evaluate()))
        beside.start()
        batch = rollout.step()
        beside.join()
        # Between steps nothing is leased, and an evaluation needs no lease.
        reports.append(rollout.evaluate(["held_out"]))
        assert batch is not None and len(batch.groups) == 2
        for report in reports:
            [told] = report.values()
            assert (told["tasks"], told["sessions"], told["failed"]) == (3, 12, {})
            assert told["rewarded"] == 12 and told["pass_rate"] == told["passed"] / 12
            assert list(told["pass_at"]) == ["1", "2", "4"]
            rates = list(told["pass_at"].values())
            assert rates == sorted(rates) and rates[0] == pytest.approx(told["pass_rate"])
        with pytest.raises(ApiError, match="held_in"):
            rollout.evaluate(["held_in"])
    assert [event["evaluation"] for event in events(tmp_path, "evaluated")] == [1, 2]
    started = {event["group"] for event in events(tmp_path, "agent_started")}
    assert {"eval:held_out:1:0", "eval:held_out:2:2", "train:0"} <= started
