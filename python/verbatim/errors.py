"""Failures of the server or of the way to it."""
from __future__ import annotations

from dataclasses import dataclass


class VerbatimError(Exception):
    """Anything that went wrong between a caller and the server."""


class TransportFailed(VerbatimError):
    """The server could not be reached, or the connection broke; the cause is the HTTP library's error."""


class DeadlineExceeded(VerbatimError, TimeoutError):
    """An operation used up its time, its retries included."""


class DriverError(VerbatimError, AssertionError):
    """The driver was not set up as it must be: an argument is missing, or a sample was used before."""


@dataclass(eq=False)
class ApiError(VerbatimError):
    """The server refused."""

    status: int
    """The HTTP status."""
    message: str
    """What is wrong and the way out, in the server's words; its body, if that is not in OpenAI's shape."""
    code: str | None = None
    """The server's word for it, as `session_not_found`."""
    param: str | None = None
    """The field that is to blame."""
    may_retry: bool = False
    """Whether another try may help."""

    def __str__(self) -> str:
        return f"HTTP {self.status}{f' {self.code}' if self.code else ''}: {self.message}"


class SessionNotFound(ApiError):
    """404: the server never knew the session, or knows it no more."""


class SessionGone(ApiError):
    """410: the server had the session, and it was deleted or reclaimed."""


class Unauthorized(ApiError):
    """401 or 403: a key is missing or wrong."""


class SamplesRefused(ApiError, RuntimeError):
    """The samples cannot be assembled, and another try would not change that."""


BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Unauthorized,
    404: SessionNotFound,
    410: SessionGone,
}
