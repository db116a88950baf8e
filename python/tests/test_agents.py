"""Real agents, unmodified, complete multi-turn runs whose rows hold: read by packages that are not
ours, equal in every format, and scored again by the engine."""
import pathlib
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from agent_runs import RUNS, Ended
from planted import shifted
from record import record
from rows import FORMATS, READERS, Row, same
from server import Server, Session, verify_rows


@dataclass(frozen=True)
class Recorded:
    """One agent's run and the files that came of it."""

    session: Session
    ended: Ended
    files: dict[str, pathlib.Path]

    def rows(self) -> list[Row]:
        return READERS["jsonl"](self.files["jsonl"].read_bytes())


@pytest.fixture(scope="module", params=RUNS)
def recorded(request: pytest.FixtureRequest, embedded: Server, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp(request.param)
    session, ended = record(embedded, request.param, folder)
    return Recorded(session, ended, {extension: folder / f"{request.param}.{extension}" for extension in FORMATS})


def test_two_turns_or_more_are_committed(recorded: Recorded, record_property: Callable[[str, object], None]) -> None:
    record_property("exit_status", recorded.ended.status)
    assert recorded.ended.status
    assert max(len(row.turns) for row in recorded.rows()) >= 2
    told = recorded.session.tree()["nodes"]
    assert sum(node["kind"] == "generation" for node in told) >= 2


def test_three_formats_hold_the_same_rows(recorded: Recorded) -> None:
    rows = {extension: READERS[extension](path.read_bytes()) for extension, path in recorded.files.items()}
    assert rows["jsonl"]
    assert same(rows["jsonl"], rows["parquet"])
    assert same(rows["jsonl"], rows["safetensors"])


def test_only_sampled_tokens_carry_loss(recorded: Recorded) -> None:
    for row in recorded.rows():
        assert len(row.tokens) == len(row.loss_mask) == len(row.logprobs)
        assert row.trained() and row.trained() <= row.sampled()
        assert all(row.logprobs[at] is not None for at in row.trained())
        assert all(row.logprobs[at] is None for at in range(len(row.tokens)) if at not in row.sampled())
        assert row.prompt_length == min(row.sampled())
        assert row.reward == 1.0


def test_every_sampled_token_is_in_the_rows_and_trains_at_most_once(recorded: Recorded) -> None:
    turns = recorded.session.turns()
    sampled = sum(turn["tokens"] for turn in turns)
    trained = sum(len(row.trained()) for row in recorded.rows())
    assert trained == sampled


def test_the_engine_gives_the_same_logprobs_again(recorded: Recorded) -> None:
    status, report = verify_rows(*recorded.files.values())
    assert (status, report["holds"]) == (0, True), report
    assert report["rows"] == len(FORMATS) * len(recorded.rows())
    assert report["missing"] == 0
    assert list(report["gaps"]) == ["raw"]
    assert report["gaps"]["raw"]["max"] <= 1e-3
    assert report["gaps"]["raw"]["tokens"] == len(FORMATS) * sum(len(row.sampled()) for row in recorded.rows())


def test_logprobs_shifted_by_one_token_are_refused(recorded: Recorded, tmp_path: pathlib.Path) -> None:
    planted = tmp_path / "planted.jsonl"
    shifted(recorded.files["jsonl"], planted)
    status, report = verify_rows(planted)
    assert (status, report["holds"]) == (1, False), report
    assert report["gaps"]["raw"]["max"] > 1e-2
