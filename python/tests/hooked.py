"""Callables that the server asks in the tests of its hooks."""
from typing import Any

Message = dict[str, Any]


def caseless(stored: Message, replayed: Message) -> bool:
    """The same words, whatever their case."""
    if replayed["content"] == "boom":
        raise ValueError("boom indeed")
    return stored["role"] == replayed["role"] and stored["content"].lower() == replayed["content"].lower()


def shortest(samples: list[Any], session_metadata: dict[str, Any]) -> list[Any]:
    """The sample with the fewest turns."""
    assert session_metadata["tree"]["leaves"]
    return [min(samples, key=lambda sample: len(sample.metadata["leaf"]["path_node_ids"]))]


def twice(samples: list[Any], session_metadata: dict[str, Any]) -> list[Any]:
    """Not allowed: the same sample again."""
    return [samples[0], samples[0]]


def halved(samples: list[Any], session_metadata: dict[str, Any]) -> list[Any]:
    """Masks the first half of each response, and rewards what is left."""
    for sample in samples:
        half = len(sample.loss_mask) // 2
        sample.loss_mask = [0] * half + list(sample.loss_mask[half:])
        sample.reward = 0.25
        sample.metadata["mine"] = True
        sample.metadata["leaf"] = "planted"
    return samples


def greedy(samples: list[Any], session_metadata: dict[str, Any]) -> list[Any]:
    """Not allowed: trains what the environment said."""
    for sample in samples:
        sample.loss_mask = [1] * len(sample.loss_mask)
    return samples
