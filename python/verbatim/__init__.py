"""Verbatim from Python: a client, a driver for Miles, adapters to trainers, and the host of plug-ins.

Invariant: importing this package, or `verbatim.host`, imports nothing but the standard library, so that a
plug-in host starts in milliseconds; what needs more is imported where it is used.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verbatim.rollout import Batch, Group, Rollout

__all__ = ["Batch", "Group", "Rollout", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in ("Batch", "Group", "Rollout"):
        from verbatim import rollout

        return getattr(rollout, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
