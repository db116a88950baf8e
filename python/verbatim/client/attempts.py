"""When an operation is tried again: decided here for both clients, without I/O."""
from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from verbatim.errors import ApiError, DeadlineExceeded, TransportFailed, VerbatimError

AGAIN = (429, 502, 503, 504)
"""Statuses after which another try may help, unless the server says that it does not."""


@dataclass(frozen=True)
class Retry:
    """How often and how soon."""

    attempts: int = 5
    """At most this many tries."""
    first_pause: float = 0.2
    """Seconds before the second try; doubled each time."""
    longest_pause: float = 5.0
    """Seconds."""


class Attempts:
    """The tries of one operation."""

    def __init__(self, retry: Retry, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._retry = retry
        self._clock = clock
        self._seconds = seconds
        self._until = clock() + seconds
        self._made = 0

    def left(self) -> float:
        """Seconds until the deadline. Raises DeadlineExceeded if there are none."""
        left = self._until - self._clock()
        if left <= 0:
            raise self.exceeded()
        return left

    def exceeded(self) -> DeadlineExceeded:
        """The error of an operation that used up its time."""
        return DeadlineExceeded(f"the operation used up its {self._seconds:g} s")

    def failed(self, error: VerbatimError) -> float:
        """Seconds to wait before the next try. Raises `error` if there is to be none."""
        self._made += 1
        if self._made >= self._retry.attempts or not may_retry(error):
            raise error
        pause = min(self._retry.first_pause * 2.0 ** (self._made - 1), self._retry.longest_pause)
        if self._clock() + pause >= self._until:
            raise error
        return pause


def may_retry(error: VerbatimError) -> bool:
    """Whether another try may go otherwise."""
    return isinstance(error, TransportFailed) or (isinstance(error, ApiError) and error.may_retry)
