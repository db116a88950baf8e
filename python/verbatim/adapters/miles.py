"""Miles' `Sample`, as the dict that its `Sample.from_dict` takes."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from verbatim.rows import Row


def miles_sample(
    row: Row,
    *,
    prompt: Any = "",
    index: int | None = None,
    group_index: int | None = None,
    label: str | None = None,
) -> dict[str, Any]:
    """A row in Miles' field names. Identity (`prompt`, `label`, `index`, `group_index`) is the driver's; where it
    gives no numbers, they are the row's own."""
    start = row.prompt_length
    return {
        "group_index": row.group_index if group_index is None else group_index,
        "index": row.sample_index if index is None else index,
        "prompt": prompt,
        "tokens": row.tokens,
        "response": row.response or "",
        "response_length": row.response_length,
        "label": label,
        "reward": row.reward,
        "loss_mask": row.loss_mask[start:],
        "weight_versions": row.weight_versions,
        "rollout_log_probs": row.filled_logprobs()[start:],
        "rollout_routed_experts": wide(row.routed_experts),
        "rollout_indexer_topk": wide(row.indexer_topk),
        "status": row.status,
        "metadata": {**row.metadata, **identity(row)},
        "prefix_cache_info": {
            "cached_tokens": row.cached_tokens,
            "total_prompt_tokens": row.total_prompt_tokens,
        },
        "spec_info": spec_info(row.speculation or {}, sum(turn.end - turn.start for turn in row.turns)),
    }


def spec_info(speculation: Mapping[str, int], sampled: int) -> dict[str, int]:
    """Speculative decoding in Miles' words; `sampled` is the number of sampled tokens."""
    return {
        "spec_accept_token_num": speculation.get("accepted", 0),
        "spec_draft_token_num": speculation.get("proposed", 0),
        "spec_verify_ct": speculation.get("verified", 0),
        "completion_token_num": sampled,
    }


def wide(replay: NDArray[Any] | None) -> NDArray[numpy.int32] | None:
    """A replay payload in Miles' width."""
    return None if replay is None else replay.astype(numpy.int32)


def identity(row: Row) -> dict[str, Any]:
    """Where a row is from, for trainers that have no field for it."""
    known = {
        "verbatim_session": row.session,
        "verbatim_group": row.group,
        "verbatim_leaf": row.leaf,
        "verbatim_weight": row.weight,
    }
    credit = {
        "verbatim_name": row.name,
        "verbatim_advantages": row.advantages,
        "verbatim_turn_rewards": row.turn_rewards,
    }
    return known | {name: value for name, value in credit.items() if value is not None}
