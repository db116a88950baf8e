"""What a step yields."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from verbatim.rows import Row


@dataclass(frozen=True)
class Group:
    """An accepted group: the rows of one task's sessions."""

    name: str
    """As the event log has it: `train:17` is the group of task 17."""
    step: int
    rows: list[Row]
    is_last: bool
    """Whether its step is complete with it; a step that closes short has no last one."""
    deliveries: int
    """How often it was given out, this time included."""


@dataclass(frozen=True)
class Lent:
    """A group that whoever has it has to acknowledge."""

    number: int
    """What it is acknowledged by; the same at each delivery."""
    group: Group


@dataclass(frozen=True)
class Progress:
    """Where a step is."""

    step: int
    state: str
    """`open`: it takes groups; `closed`: no more, but some were not acknowledged; `done`."""
    groups: int
    """Groups that it accepted."""
    rows: int
    """Their rows."""
    undelivered: int
    """Groups that were not acknowledged yet, those that are lent among them."""


@dataclass(frozen=True)
class Batch:
    """All groups of a step, in the order in which they finished."""

    step: int
    groups: list[Group]

    @property
    def rows(self) -> list[Row]:
        """The groups' rows, group by group."""
        return [row for group in self.groups for row in group.rows]

    @property
    def mixed(self) -> list[Group]:
        """Groups whose rows differ in reward: those that teach something under group-normalised advantages."""
        return [group for group in self.groups if differ(row.reward for row in group.rows)]


def differ(rewards: Iterable[float | None]) -> bool:
    """Whether there are two different rewards."""
    return len({reward for reward in rewards if reward is not None}) > 1
