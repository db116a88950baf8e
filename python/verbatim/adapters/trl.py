"""The result of TRL's `rollout_func`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verbatim.rows import Row


def trl_rollouts(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """What `GRPOTrainer(rollout_func=…)` takes: lists with a value for each row, in its order.

    TRL wants one completion for each prompt that it gave, so a session of several leaves must be picked down
    to one row. `env_mask` is TRL's loss mask over the completion; `logprobs` holds 0 where it is 0. What else is
    there reaches the reward functions.
    """
    return {
        "prompt_ids": [row.tokens[: row.prompt_length] for row in rows],
        "completion_ids": [row.tokens[row.prompt_length :] for row in rows],
        "logprobs": [row.filled_logprobs()[row.prompt_length :] for row in rows],
        "env_mask": [row.loss_mask[row.prompt_length :] for row in rows],
        "verbatim_reward": [row.reward for row in rows],
        "verbatim_advantages": [row.advantages for row in rows],
        "verbatim_status": [row.status for row in rows],
        "verbatim_session": [row.session for row in rows],
        "verbatim_metadata": [row.metadata for row in rows],
    }
