"""Verbatim from Python: a client, a driver for Miles, adapters to trainers, and the host of plug-ins.

Invariant: importing this package, or `verbatim.host`, imports nothing but the standard library, so that a
plug-in host starts in milliseconds; what needs more is imported where it is used.
"""
from __future__ import annotations

__version__ = "0.1.0"
