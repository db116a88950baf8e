"""The process that runs the user's callables for the `verbatim` binary.

Invariant: every frame that asks for a load or a call is answered exactly once, whatever the callable does
short of ending the process; and nothing that a callable prints gets between the frames.

The frames are described in `crates/plugins/src/frame.rs`.
"""
from __future__ import annotations

PROTOCOL = 1
"""The version of the frames; the owner must speak the same."""
