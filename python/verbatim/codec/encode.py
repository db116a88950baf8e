"""From samples to a file."""
from __future__ import annotations

import json
from typing import Any

import numpy
import safetensors.numpy
from numpy.typing import NDArray

from verbatim.codec.decode import check_lengths
from verbatim.codec.errors import MalformedPayload
from verbatim.codec.sample import REPLAYS, WIRE, Payload, Sample


def encode(payload: Payload) -> bytes:
    """Writes a samples file.

    Raises MalformedPayload for values that the file's types cannot hold.
    """
    tensors: dict[str, NDArray[Any]] = {}
    entries = []
    for at, sample in enumerate(payload.samples):
        check_lengths(sample, f"sample {at}")
        nulls = []
        for name in WIRE:
            values = getattr(sample, name)
            if values is None:
                nulls.append(name)
            else:
                tensors[f"{name}.{at}"] = wire(name, values)
        entries.append(entry(sample, nulls))
    meta = {
        "samples": entries,
        "session_metadata": payload.session_metadata,
        "empty_reason": payload.empty_reason,
    }
    try:
        text = json.dumps(meta, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise MalformedPayload(f"the samples' metadata is not JSON: {error}") from error
    tensors["_samples_meta"] = numpy.frombuffer(text.encode(), dtype=numpy.uint8)
    return safetensors.numpy.save(tensors)


def entry(sample: Sample, nulls: list[str]) -> dict[str, Any]:
    """What the file's JSON says of a sample."""
    return {
        "response": sample.response,
        "response_length": sample.response_length,
        "status": getattr(sample.status, "value", sample.status),
        "weight_versions": list(sample.weight_versions),
        "prefix_cache_info": sample.prefix_cache_info,
        "metadata": sample.metadata,
        "reward": sample.reward,
        "nulls": nulls,
        **sample.extra,
    }


def wire(name: str, values: Any) -> NDArray[Any]:
    """A field in its type, contiguous; refused where a value would change."""
    array = numpy.asarray(values)
    target = numpy.dtype(WIRE[name])
    if name in REPLAYS:
        if array.dtype != target:
            raise MalformedPayload(f"{name} must have dtype {target}, got {array.dtype}")
        if array.ndim != 3:
            raise MalformedPayload(f"{name} must have rank 3, got {array.ndim}")
        return numpy.ascontiguousarray(array)
    if array.size == 0:
        return numpy.empty(0, target)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise MalformedPayload(f"{name} must be a list of numbers")
    with numpy.errstate(all="ignore"):
        converted = array.astype(target)
    if not numpy.array_equal(converted, array, equal_nan=array.dtype.kind == "f"):
        raise MalformedPayload(f"{name} values do not fit wire dtype {target}")
    return numpy.ascontiguousarray(converted)
