"""The driver's samples, made of its input sample and of what the server sent."""
from __future__ import annotations

import copy
import enum
from collections.abc import Mapping
from typing import Any

from verbatim import codec
from verbatim.adapters.miles import spec_info
from verbatim.errors import DriverError

COMPUTED = ("tokens", "response", "response_length", "loss_mask", "rollout_log_probs", "weight_versions")
"""Fields that are the server's, as they are."""
REPLAYS = ("rollout_routed_experts", "rollout_indexer_topk")
"""Fields that are the server's where the sample's class has them or the server sent them."""
COUNTS = ("prefix_cache_info", "spec_info")
"""Fields that hold an object of counts."""
STALE = ("weight_versions", "teacher_log_probs", "opd_reverse_kl")
"""Fields that an input sample must not hold yet: they would be taken for this trajectory's."""
ABORT_REASON = "abort_reason"
"""The key of an ABORTED copy's metadata that says why."""


def check_fresh(sample: Any) -> None:
    """Refuses an input sample that holds another trajectory's results. Raises DriverError."""
    metadata = getattr(sample, "metadata", None) or {}
    stale = [name for name in STALE if has_value(getattr(sample, name, None))]
    if "opd_student_top_logprobs" in metadata:
        stale.append("metadata['opd_student_top_logprobs']")
    if stale:
        raise DriverError(f"the input sample holds results already: {', '.join(stale)}")


def has_value(value: Any) -> bool:
    """Whether a field says anything; an empty list does not."""
    return value is not None and not (hasattr(value, "__len__") and len(value) == 0)


def overlaid(sample: Any, sent: codec.Sample) -> Any:
    """A copy of the input with the server's values. The server's metadata wins; its reward, if it sent one."""
    made = copy.deepcopy(sample)
    for name in COMPUTED:
        setattr(made, name, getattr(sent, name))
    for name in REPLAYS:
        value = getattr(sent, name)
        if value is not None or hasattr(made, name):
            setattr(made, name, value)
    counts = {"prefix_cache_info": sent.prefix_cache_info, "spec_info": speculation(sent)}
    for name in COUNTS:
        count(made, name, counts[name])
    made.status = status_of(made, sent.status.value)
    made.metadata = {**(getattr(made, "metadata", None) or {}), **sent.metadata}
    if sent.reward is not None:
        made.reward = sent.reward
    return made


def speculation(sent: codec.Sample) -> Mapping[str, Any] | None:
    """The sample's speculative decoding, in whichever of the two places the server put it; None if it said nothing."""
    if "spec_info" in sent.extra:
        told: Mapping[str, Any] | None = sent.extra["spec_info"]
        return told
    row = sent.metadata.get("verbatim") or {}
    counts = row.get("speculation")
    return None if counts is None else spec_info(counts, sum(turn["end"] - turn["start"] for turn in row["turns"]))


def count(sample: Any, name: str, values: Mapping[str, Any] | None) -> None:
    """Writes counts into the sample's own object, or sets them as they are where it has none."""
    if values is None:
        return
    holder = getattr(sample, name, None)
    if holder is None or isinstance(holder, dict):
        setattr(sample, name, dict(values))
        return
    for key, value in values.items():
        if hasattr(holder, key):
            setattr(holder, key, value)


def status_of(sample: Any, word: str) -> Any:
    """A status in the sample's own enum, if it has one."""
    own = getattr(type(sample), "Status", None)
    if isinstance(own, type) and issubclass(own, enum.Enum):
        return own(word)
    present = getattr(sample, "status", None)
    return type(present)(word) if isinstance(present, enum.Enum) else word


def aborted(sample: Any, reason: str) -> Any:
    """A copy of the input that says that there is nothing to train on, and why."""
    made = copy.deepcopy(sample)
    made.status = status_of(made, "aborted")
    made.metadata = {**(getattr(made, "metadata", None) or {}), ABORT_REASON: reason}
    return made


def agents_own(result: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What an agent may add to the metadata: all but what only the server writes."""
    if result is None:
        return None
    return {key: value for key, value in result.items() if key not in codec.SERVER_OWNED}


def share_rollout(samples: list[Any], sample: Any) -> None:
    """Tells the trainer that these samples are one rollout. Raises DriverError if the input has no identity."""
    if len(samples) < 2:
        return
    rollout = getattr(sample, "rollout_id", None)
    if rollout is None:
        rollout = getattr(sample, "index", None)
    if rollout is None:
        raise DriverError("a rollout of several samples needs the input's rollout_id or index")
    for made in samples:
        made.rollout_id = rollout
