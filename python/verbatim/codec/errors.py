"""Why a samples file was refused, in the exception classes that Miles' decoder raises."""
from __future__ import annotations


class CodecError(Exception):
    """A samples file that cannot be read or written."""


class MissingPart(CodecError, KeyError):
    """Something that must be there is not."""

    def __str__(self) -> str:
        return str(self.args[0])


class MalformedPayload(CodecError, ValueError):
    """Something is not as it must be."""
