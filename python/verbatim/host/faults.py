"""Failures as the owner is told of them."""
from __future__ import annotations

import enum
import os
import traceback
from types import TracebackType

HERE = os.path.dirname(os.path.abspath(__file__))


class Cause(enum.Enum):
    """What kind of failure it was; the words of `verbatim_plugins::Cause`."""

    BAD_PATH = "bad_path"
    IMPORT = "import"
    MISSING = "missing"
    NOT_CALLABLE = "not_callable"
    ASYNC_REFUSED = "async_refused"
    RAISED = "raised"
    BAD_RESULT = "bad_result"
    CANCELLED = "cancelled"
    BAD_BLOB = "bad_blob"
    PROTOCOL = "protocol"


class Fault(Exception):
    """A failure with its cause; the traceback is that of the user's code, if it was running."""

    def __init__(self, cause: Cause, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.cause = cause
        self.message = message
        self.trace = trace

    @classmethod
    def of(cls, cause: Cause, message: str, error: BaseException) -> Fault:
        """A failure that an exception of the user's caused."""
        return cls(cause, f"{message}: {type(error).__name__}: {error}", users(error))


def users(error: BaseException) -> str:
    """The traceback from the first frame that is not the host's own."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and own(trace):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace or error.__traceback__))


def own(trace: TracebackType) -> bool:
    """Whether a frame is the host's, or of the machinery that it calls through."""
    name = trace.tb_frame.f_code.co_filename
    return name.startswith((HERE, "<frozen importlib")) or name.endswith(os.path.join("importlib", "__init__.py"))
