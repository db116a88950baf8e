"""From a file to samples."""
from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from verbatim.codec.errors import MalformedPayload, MissingPart
from verbatim.codec.sample import REPLAYS, WIRE, Payload, Sample, SampleStatus

Tensors = dict[str, NDArray[Any]]
Check = Callable[[Any], bool]


def decode(content: bytes) -> Payload:
    """Reads a samples file.

    Raises MissingPart (a KeyError), MalformedPayload (a ValueError); for bytes that are no safetensors,
    MalformedPayload caused by the library's own error.
    """
    try:
        tensors: Tensors = safetensors.numpy.load(content)
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        raise MalformedPayload(f"not a safetensors file: {error}") from error
    meta = metadata(tensors)
    entries = of_type(meta, "samples", list, "the metadata")
    samples = [decode_sample(at, entry, tensors) for at, entry in enumerate(entries)]
    if tensors:
        raise MalformedPayload(f"tensors that belong to no sample: {', '.join(sorted(tensors))}")
    empty_reason = meta.get("empty_reason")
    if empty_reason is not None and not isinstance(empty_reason, str):
        raise MalformedPayload("empty_reason is neither text nor null")
    return Payload(samples, of_type(meta, "session_metadata", dict, "the metadata"), empty_reason)


def metadata(tensors: Tensors) -> dict[str, Any]:
    """The JSON beside the tensors."""
    if "_samples_meta" not in tensors:
        raise MissingPart("there is no _samples_meta")
    encoded = tensors.pop("_samples_meta")
    if encoded.ndim != 1 or encoded.dtype != numpy.uint8:
        raise MalformedPayload(f"_samples_meta is {encoded.dtype} of rank {encoded.ndim}, not uint8 of rank 1")
    try:
        meta = json.loads(encoded.tobytes())
    except ValueError as error:
        raise MalformedPayload(f"_samples_meta is not JSON: {error}") from error
    if not isinstance(meta, dict):
        raise MalformedPayload("_samples_meta is not a JSON object")
    return meta


def of_type(where: dict[str, Any], key: str, expected: type[Any], whose: str) -> Any:
    """A value that must be there and of a type."""
    if key not in where:
        raise MissingPart(f"{key} is missing in {whose}")
    value = where[key]
    # True is an int to Python, but not in JSON.
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise MalformedPayload(f"{key} of {whose} is {type(value).__name__}, not {expected.__name__}")
    return value


def decode_sample(at: int, entry: Any, tensors: Tensors) -> Sample:
    """One sample; takes its tensors out of `tensors`."""
    whose = f"sample {at}"
    if not isinstance(entry, dict):
        raise MalformedPayload(f"{whose} is not a JSON object")
    entry = dict(entry)
    nulls = of_type(entry, "nulls", list, whose)
    if foreign := [name for name in nulls if name not in WIRE]:
        raise MalformedPayload(f"{whose} says null of {foreign[0]!r}, which is no tensor")
    sample = Sample(
        response=of_type(entry, "response", str, whose),
        response_length=of_type(entry, "response_length", int, whose),
        status=status(entry, whose),
        weight_versions=of_type(entry, "weight_versions", list, whose),
        prefix_cache_info=of_type(entry, "prefix_cache_info", dict, whose),
        metadata=of_type(entry, "metadata", dict, whose),
        reward=entry.get("reward"),
        extra={key: value for key, value in entry.items() if key not in MEANT},
        origin=at,
    )
    for name in WIRE:
        if name not in nulls:
            array = tensor(f"{name}.{at}", name, tensors)
            setattr(sample, name, array if name in REPLAYS else array.tolist())
    check_lengths(sample, whose)
    return sample


MEANT = {
    *("response", "response_length", "status", "weight_versions", "prefix_cache_info", "metadata"),
    *("reward", "nulls"),
}


def status(entry: dict[str, Any], whose: str) -> SampleStatus:
    """Its status."""
    word = of_type(entry, "status", str, whose)
    try:
        return SampleStatus(word)
    except ValueError:
        raise MalformedPayload(f"{whose} has the unknown status {word!r}") from None


def tensor(key: str, name: str, tensors: Tensors) -> NDArray[Any]:
    """A tensor that was promised."""
    if key not in tensors:
        raise MissingPart(f"tensor {key} is missing, and nulls does not name it")
    array = tensors.pop(key)
    rank = 3 if name in REPLAYS else 1
    if array.dtype != WIRE[name] or array.ndim != rank:
        expected = numpy.dtype(WIRE[name])
        raise MalformedPayload(f"{key} is {array.dtype} of rank {array.ndim}, not {expected} of rank {rank}")
    return array


def check_lengths(sample: Sample, whose: str) -> None:
    """What is per token has a value for each."""
    for name in ("loss_mask", "rollout_log_probs"):
        values = getattr(sample, name)
        if values is not None and len(values) != sample.response_length:
            raise MalformedPayload(
                f"{whose} has {len(values)} values of {name} for a response of {sample.response_length} tokens"
            )
    if sample.response_length < 0 or sample.response_length > len(sample.tokens):
        raise MalformedPayload(f"{whose} has {len(sample.tokens)} tokens, {sample.response_length} of them response")
