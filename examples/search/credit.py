"""Credit for a main line and its searchers."""
from __future__ import annotations

import statistics

Group = list[dict[str, dict]]
"""For each session: the name of a context → its metadata, `reward` and `turns`."""

SHARE = 0.5
"""What the searchers get together of their main line's advantage."""


def advantages(group: Group) -> list[dict[str, float]] | None:
    """The main lines' rewards, normalised over the group; a group whose rewards are all the same teaches nothing."""
    rewards = [session["main"]["reward"] for session in group]
    spread = statistics.pstdev(rewards)
    if spread == 0:
        return None
    mean = statistics.fmean(rewards)
    credit = []
    for session, reward in zip(group, rewards):
        main = (reward - mean) / spread
        searchers = [name for name in session if name != "main"]
        credit.append({"main": main, **{name: SHARE * main / len(searchers) for name in searchers}})
    return credit
