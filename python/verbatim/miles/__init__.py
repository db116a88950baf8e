"""The driver's side for Miles: `--custom-generate-function-path verbatim.miles.agentic_generate`.

Invariant: a trajectory ends as samples or as one ABORTED copy that says why; its session is deleted
whatever happened; the only errors that leave `agentic_generate` are those that would hit every trajectory
alike (a wrong set-up, a wrong key, samples that the server refuses to assemble).

Miles need not be installed: a sample is whatever has Miles' field names.
"""
from __future__ import annotations

from verbatim.miles.flags import add_arguments
from verbatim.miles.generate import agentic_generate
from verbatim.miles.surplus import abort, abort_surplus

setattr(agentic_generate, "add_arguments", add_arguments)  # noqa: B010

__all__ = ["abort", "abort_surplus", "add_arguments", "agentic_generate"]
