"""From Miles' sampling parameters to those of Chat Completions."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RENAMED = {"max_new_tokens": "max_tokens", "min_new_tokens": "min_tokens", "sampling_seed": "seed"}
"""The engine's words for what Chat Completions has another word for."""

FIELDS = frozenset(
    # Chat Completions'.
    "frequency_penalty logit_bias logprobs max_completion_tokens max_tokens n parallel_tool_calls presence_penalty"
    " reasoning_effort response_format seed stop stream stream_options temperature tool_choice tools top_logprobs"
    " top_p user"
    # The engine's additions to it.
    " bootstrap_host bootstrap_port bootstrap_room cache_salt chat_template_kwargs continue_final_message"
    " custom_logit_processor custom_params data_parallel_rank ebnf extra_key ignore_eos input_ids lora_path min_p"
    " min_tokens no_stop_trim priority reasoning regex repetition_penalty return_cached_tokens_details"
    " return_hidden_states return_meta_info return_routed_experts rid routed_dp_rank routed_experts_start_len"
    " separate_reasoning session_params skip_special_tokens stop_regex stop_token_ids stream_reasoning top_k"
    " spaces_between_special_tokens".split()
)
"""What a request may hold; `model` and `messages` are the agent's."""


def request_kwargs(sampling_params: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that an agent passes on to its chat client. Nulls and unknown names are dropped; a name
    that is there under both words keeps Chat Completions'."""
    renamed = {new: sampling_params[old] for old, new in RENAMED.items() if old in sampling_params}
    merged = {**renamed, **{name: value for name, value in sampling_params.items() if name not in RENAMED}}
    return {name: value for name, value in merged.items() if name in FIELDS and value is not None}
