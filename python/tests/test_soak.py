"""The soak, small: every way to end, with as many sessions as two cores start in seconds."""
import pytest

from soak import Case, run

CASES = [
    Case(False, "sync", "done"),
    Case(True, "partial", "failing"),
    Case(True, "sync", "interrupted"),
    Case(False, "partial", "killed"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_is_left(case: Case) -> None:
    seen = run(case, 32, 2)
    assert {what: count for what, count in seen.items() if what.startswith("left") and count} == {}, seen
    assert seen["peak"] >= 24 and (seen["turns"] > 0) == (seen["steps"] > 0), seen
