"""verl's `AgentLoopOutput`."""
from __future__ import annotations

from typing import Any

from verbatim.adapters.miles import identity
from verbatim.rows import Row


def verl_output(row: Row, *, generate_seconds: float = 0.0, tool_seconds: float = 0.0) -> dict[str, Any]:
    """The arguments of `AgentLoopOutput`: `AgentLoopOutput(**verl_output(row))`.

    The response runs from the first sampled token to the end; experts cover n − 1 tokens, which verl aligns.
    """
    start = row.prompt_length
    return {
        "prompt_ids": row.tokens[:start],
        "response_ids": row.tokens[start:],
        "response_mask": row.loss_mask[start:],
        "response_logprobs": row.filled_logprobs()[start:],
        "routed_experts": row.routed_experts,
        "reward_score": row.reward,
        "num_turns": 2 * len(row.turns),
        "metrics": {"generate_sequences": generate_seconds, "tool_calls": tool_seconds},
        "extra_fields": {
            **identity(row),
            "versions": row.versions[start:],
            "truncated": row.status == "truncated",
            "metadata": row.metadata,
        },
    }
