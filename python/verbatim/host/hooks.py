"""Pickers and post-processors: the user's functions over samples, and what they may not change."""
from __future__ import annotations

from typing import Any

from verbatim import codec
from verbatim.codec import CodecError, Payload, Sample
from verbatim.codec.decode import check_lengths
from verbatim.host.calls import Result, bad, invoke
from verbatim.host.faults import Cause, Fault
from verbatim.host.owned import Owned
from verbatim.host.resolve import Plugin


def decoded(blob: bytes) -> Payload:
    """The samples that the owner sent."""
    try:
        return codec.decode(blob)
    except CodecError as error:
        raise Fault(Cause.BAD_BLOB, f"the samples cannot be decoded: {error}") from error


def listed(plugin: Plugin, given: object) -> list[Any]:
    """The list that a hook must return."""
    if not isinstance(given, list):
        raise bad(f"the {plugin.kind.value} must return a list of samples, it returned {type(given).__name__}")
    return given


def pick(plugin: Plugin, value: dict[str, Any], blob: bytes) -> Result:
    """The indices of the samples that the picker kept: the same objects, each at most once."""
    samples = decoded(blob).samples
    index = {id(sample): at for at, sample in enumerate(samples)}
    # The picker gets a list of its own: one that it changes is still the one we compare with.
    given = listed(plugin, invoke(plugin, list(samples), value["session_metadata"]))
    if any(id(sample) not in index for sample in given):
        raise bad("the picker returned a sample that it was not given; it must return a sub-list of the same objects")
    picked = [index[id(sample)] for sample in given]
    if len(set(picked)) < len(picked):
        raise bad("the picker returned a sample twice")
    return {"picked": picked}, b""


def postprocess(plugin: Plugin, value: dict[str, Any], blob: bytes) -> Result:
    """The samples that the post-processor made, as a file; the server's own data is as it was."""
    payload = decoded(blob)
    owned = Owned(payload.samples)
    given = listed(plugin, invoke(plugin, list(payload.samples), value["session_metadata"]))
    for sample in given:
        if not isinstance(sample, Sample):
            raise bad(f"the postprocessor returned {type(sample).__name__} among its samples")
    if len({id(sample) for sample in given}) < len(given):
        raise bad("the postprocessor returned a sample twice")
    try:
        for at, sample in enumerate(given):
            check_lengths(sample, f"sample {at}")
            owned.restore(sample)
        empty_reason = payload.empty_reason if given or payload.empty_reason else "all_truncated"
        file = codec.encode(Payload(given, payload.session_metadata, empty_reason))
    except CodecError as error:
        raise bad(f"the postprocessor's samples cannot be encoded: {error}") from error
    return {"samples": len(given)}, file
