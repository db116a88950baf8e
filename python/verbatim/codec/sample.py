"""A sample as Miles' hooks see it: its field names, without its package."""
from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy
from numpy.typing import NDArray

Replay = NDArray[numpy.int32]
"""What a token's computation chose: rows × layers × k."""

WIRE: dict[str, type[Any]] = {
    "tokens": numpy.int64,
    "loss_mask": numpy.uint8,
    "rollout_log_probs": numpy.float64,
    "rollout_routed_experts": numpy.int32,
    "rollout_indexer_topk": numpy.int32,
}
"""The fields that are tensors, and their types in the file."""

REPLAYS = ("rollout_routed_experts", "rollout_indexer_topk")
"""The tensors that stay arrays; the others become lists."""

SERVER_OWNED = ("accumulated_token_ids", "tito_session_mismatch", "leaf")
"""The keys of a sample's metadata that only the server writes."""


class SampleStatus(str, enum.Enum):
    """How a sample ended."""

    PENDING = "pending"
    COMPLETED = "completed"
    TRUNCATED = "truncated"
    ABORTED = "aborted"
    FAILED = "failed"


@dataclass(eq=False)
class Sample:
    """One training sample. Two samples are equal only if they are the same object."""

    Status: ClassVar[type[SampleStatus]] = SampleStatus

    tokens: list[int] = field(default_factory=list)
    """n ids: prompt and response."""
    response: str = ""
    """The response's text, special tokens kept."""
    response_length: int = 0
    """How many tokens the response has: from the first sampled one to the end."""
    status: SampleStatus = SampleStatus.PENDING
    loss_mask: list[int] | None = None
    """response_length values: 1 trains."""
    rollout_log_probs: list[float] | None = None
    """response_length values: the engine's logprobs in nats; 0 where it gave none."""
    rollout_routed_experts: Replay | None = None
    """(n − 1) × layers × top-k."""
    rollout_indexer_topk: Replay | None = None
    """(n − 1) × layers × k."""
    weight_versions: list[str] = field(default_factory=list)
    """The policy's version of each turn."""
    prefix_cache_info: dict[str, int] = field(default_factory=dict)
    """`cached_tokens` and `total_prompt_tokens`, summed over turns."""
    metadata: dict[str, Any] = field(default_factory=dict)
    reward: float | dict[str, Any] | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """What else the file says of it, kept when it is written again."""
    origin: int | None = field(default=None, repr=False)
    """Its index in the file it came from; copies keep it."""

    @property
    def prompt_length(self) -> int:
        """How many tokens precede the response."""
        return len(self.tokens) - self.response_length


@dataclass(eq=False)
class Payload:
    """A samples file."""

    samples: list[Sample] = field(default_factory=list)
    session_metadata: dict[str, Any] = field(default_factory=dict)
    empty_reason: str | None = None
    """Why there is no sample: `no_records` or `all_truncated`."""
