"""Rows in trainers' shapes, and the trainers' own classes filled with them."""
from __future__ import annotations

import ast
import base64
import json
import pathlib
import re
from typing import Any

import numpy
import pytest

import trainers
from server import Server, Session
from stand_ins import MilesSample, SlimeSample
from verbatim.adapters import miles_sample, slime_sample, transferqueue_columns, trl_rollouts, verl_output
from verbatim.codec import MalformedPayload, Sample
from verbatim.rows import Row, Turn, of_record, of_sample, parse, read

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def row(**changed: Any) -> Row:
    given: dict[str, Any] = {
        "tokens": [10, 11, 12, 13, 14, 15],
        "prompt_length": 2,
        "mask_cause": ["observation", "observation", None, "no_logprob", "observation", None],
        "logprobs": [None, None, -0.5, None, None, -0.25],
        "versions": [None, None, "v1", "v1", None, "v2"],
        "turns": [Turn(2, 4, "stop", 1.0, "r1", 0), Turn(5, 6, "length", 1.0, "r2", 1)],
        "status": "truncated",
        "weight": 0.5,
        "reward": 0.75,
        "metadata": {"task": 1},
        "session": "s",
        "group": "g",
        "leaf": 3,
        "routed_experts": numpy.arange(20, dtype=numpy.uint8).reshape(5, 2, 2),
        "indexer_topk": numpy.arange(15, dtype=numpy.uint16).reshape(5, 1, 3),
        "cached_tokens": 3,
        "total_prompt_tokens": 7,
        "speculation": {"proposed": 4, "accepted": 3, "verified": 2},
        "response": "text",
    }
    return Row(**{**given, **changed})


MASK, LOGPROBS = [1, 0, 0, 1], [-0.5, 0.0, 0.0, -0.25]


def test_a_row_for_miles_is_a_sample() -> None:
    made = miles_sample(row(), prompt="p", index=7, group_index=2, label="l")
    unset = {"rollout_id", "teacher_log_probs", "opd_reverse_kl", "non_generation_time"}
    assert set(made) == set(MilesSample.__dataclass_fields__) - unset
    sample = slime_sample(row(), MilesSample, prompt="p", index=7, group_index=2, label="l")
    assert (sample.tokens, sample.response_length, sample.response) == ([10, 11, 12, 13, 14, 15], 4, "text")
    assert (sample.loss_mask, sample.rollout_log_probs, sample.weight_versions) == (MASK, LOGPROBS, ["v1", "v2"])
    assert sample.status is MilesSample.Status.TRUNCATED and sample.reward == 0.75
    assert (sample.prompt, sample.index, sample.group_index, sample.label) == ("p", 7, 2, "l")
    assert sample.rollout_routed_experts.dtype == numpy.int32 and sample.rollout_routed_experts.shape == (5, 2, 2)
    assert sample.rollout_indexer_topk.dtype == numpy.int32 and sample.rollout_indexer_topk.shape == (5, 1, 3)
    assert sample.prefix_cache_info == MilesSample.PrefixCacheInfo(3, 7)
    assert sample.spec_info == MilesSample.SpecInfo(3, 4, 2, 3)
    origin = {"verbatim_session": "s", "verbatim_group": "g", "verbatim_leaf": 3, "verbatim_weight": 0.5}
    assert sample.metadata == {"task": 1, **origin}


def credited(**changed: Any) -> Row:
    turns = [Turn(2, 4, "stop", 1.0, "r1", 0), Turn(5, 6, "length", 1.0, "r2", 1, 0.5)]
    given: dict[str, Any] = {"name": "main", "group_index": 3, "sample_index": 13, "turns": turns}
    return row(**{**given, "advantages": [0.25, -1.0], **changed})


def test_credit_goes_where_a_trainer_has_a_place_for_it() -> None:
    assert credited().token_advantages == [0, 0, 0.25, 0.25, 0, -1.0]
    assert credited(advantages=2.0).token_advantages == [0, 0, 2.0, 2.0, 0, 2.0]
    assert row().token_advantages is None and row().turn_rewards is None
    made = miles_sample(credited())
    assert (made["index"], made["group_index"]) == (13, 3)
    credit = {"verbatim_name": "main", "verbatim_advantages": [0.25, -1.0], "verbatim_turn_rewards": [None, 0.5]}
    assert credit.items() <= made["metadata"].items()
    assert miles_sample(credited(), index=7, group_index=2)["index"] == 7, "the driver's numbers win"
    assert credit.items() <= verl_output(credited())["extra_fields"].items()
    assert trl_rollouts([credited()])["verbatim_advantages"] == [[0.25, -1.0]]
    columns = transferqueue_columns([credited(), credited(advantages=2.0, reward=None)])
    first, second = columns.fields["rewards"]
    assert first.tolist() == [0.25, 0.25, 0, -1.0] and second == 2.0
    assert columns.fields["sample_indices"] == [13, 13] and columns.fields["group_index"] == [3, 3]
    assert "raw_reward" not in columns.fields, "one of them is unknown"


def test_a_row_for_slime_leaves_out_what_its_class_has_not() -> None:
    sample = slime_sample(row(status="completed"), SlimeSample, index=1)
    assert isinstance(sample, SlimeSample) and sample.status is SlimeSample.Status.COMPLETED
    assert sample.loss_mask == MASK and not hasattr(sample, "spec_info")


def test_verls_own_class_takes_a_row() -> None:
    own = trainers.classes("verl/experimental/agent_loop/agent_loop.py", "AgentLoopMetrics", "AgentLoopOutput")
    made = verl_output(row(), generate_seconds=2.0, tool_seconds=1.0)
    output = own["AgentLoopOutput"](**made)
    assert set(made) <= set(own["AgentLoopOutput"].model_fields)
    assert (output.prompt_ids, output.response_ids) == ([10, 11], [12, 13, 14, 15])
    assert (output.response_mask, output.response_logprobs) == (MASK, LOGPROBS)
    assert (output.reward_score, output.num_turns, output.metrics.generate_sequences) == (0.75, 4, 2.0)
    assert output.routed_experts.shape == (5, 2, 2)
    assert output.extra_fields["versions"] == ["v1", "v1", None, "v2"] and output.extra_fields["truncated"]


def test_trl_takes_what_a_rollout_func_returns() -> None:
    made = trl_rollouts([row(), row(reward=None)])
    assert {len(values) for values in made.values()} == {2}
    assert made["prompt_ids"][0] == [10, 11] and made["completion_ids"][0] == [12, 13, 14, 15]
    assert made["env_mask"][0] == MASK and made["logprobs"][0] == LOGPROBS
    assert made["verbatim_reward"] == [0.75, None]
    # What the trainer itself says that it needs, and takes for its loss mask.
    text = (trainers.installed() / "trl/trainer/grpo_trainer.py").read_text()
    [required] = re.findall(r"required_keys = (\{.*?\})", text)
    assert ast.literal_eval(required) <= set(made)
    assert 'extra_fields.pop("env_mask", None)' in text


def test_transferqueues_columns_are_one_value_a_row() -> None:
    rows = [row(session="b", group="h"), row(session="a"), row(session="b", group="h", mask_cause=["trimmed"] * 6)]
    made = transferqueue_columns(rows, {"a": 4, "b": 2}, {"g": 0, "h": 1})
    fields = made.fields
    assert {len(values) for values in fields.values()} == {3}
    assert fields["sample_indices"] == [2, 2, 4] and fields["group_index"] == [1, 1, 0]
    assert fields["sample_index_mask_sums"] == [2, 2, 2], "trained tokens of the session, over all its rows"
    assert fields["total_lengths"] == [6, 6, 6] and fields["response_lengths"] == [4, 4, 4]
    assert fields["truncated"] == [1, 1, 1] and fields["rewards"] == fields["raw_reward"] == [0.75] * 3
    assert [mask.tolist() for mask in fields["loss_masks"]] == [MASK, [0] * 4, MASK]
    assert fields["rollout_log_probs"][0].dtype == numpy.float32
    assert fields["rollout_routed_experts"][0].shape == (5, 4)
    assert made.custom_meta[2] == {"total_lengths": 6, "sample_index": 4}
    assert transferqueue_columns(rows).fields["sample_indices"] == [0, 0, 1]
    parameters = trainers.function("transfer_queue/client.py", "async_put").args
    assert {"data", "metadata", "partition_id"} <= {argument.arg for argument in parameters.args}


def test_a_column_holds_no_unknown_reward_and_no_half_of_the_experts() -> None:
    with pytest.raises(ValueError, match="no reward"):
        transferqueue_columns([row(), row(reward=None)])
    assert "rollout_routed_experts" not in transferqueue_columns([row(), row(routed_experts=None)]).fields


def talked(server: Server) -> Session:
    session = server.open(lineage="tree", group="g")
    messages: list[Any] = [{"role": "user", "content": "one"}]
    with session.client() as client:
        for words in ("two", "three"):
            reply = client.chat.completions.create(model="policy", messages=messages, max_completion_tokens=400)
            messages += [reply.choices[0].message.model_dump(exclude_none=True), {"role": "user", "content": words}]
    return session


def test_a_row_is_the_same_in_every_format(swift: Server, tmp_path: pathlib.Path) -> None:
    session = talked(swift)
    asked: dict[str, Any] = {"reward": 1.0, "metadata": {"task": "t", "verbatim": "the agent's own"}}
    found = {}
    for name in ("safetensors", "jsonl", "parquet"):
        file = tmp_path / f"rows.{name}"
        file.write_bytes(session.rows_file(name, **asked))
        [found[name]] = read(file)
    one = found["safetensors"]
    assert one.response and one.reward == 1.0 and one.group == "g" and len(one.turns) == 2
    assert one.metadata["verbatim"] == "the agent's own" and one.metadata["task"] == "t"
    assert [at for at, value in enumerate(one.logprobs) if value is not None] == [
        at for turn in one.turns for at in range(turn.start, turn.end)
    ]
    for name in ("jsonl", "parquet"):
        other = found[name]
        for field in Row.__dataclass_fields__:
            if field == "logprobs":
                assert [v is None for v in one.logprobs] == [v is None for v in other.logprobs]
                assert one.filled_logprobs() == pytest.approx(other.filled_logprobs(), abs=1e-6)
            elif field != "response":
                assert getattr(one, field) == getattr(other, field), (name, field)


def test_a_real_row_fits_every_trainer(swift: Server) -> None:
    [one] = parse(talked(swift).rows_file("jsonl", reward=0.5), "jsonl")
    own = trainers.classes("verl/experimental/agent_loop/agent_loop.py", "AgentLoopMetrics", "AgentLoopOutput")
    output = own["AgentLoopOutput"](**verl_output(one))
    sample = slime_sample(one, MilesSample)
    [completion], [mask] = trl_rollouts([one])["completion_ids"], trl_rollouts([one])["env_mask"]
    columns = transferqueue_columns([one]).fields
    assert output.response_ids == completion == one.tokens[-sample.response_length :]
    assert output.response_mask == mask == sample.loss_mask == columns["loss_masks"][0].tolist()
    assert sum(mask) == sum(turn.end - turn.start for turn in one.turns) > 0


def test_replay_payloads_are_read_in_the_width_that_they_have() -> None:
    own = {
        "prompt_length": 1,
        "mask": [["observation", 1], [None, 2]],
        "versions": [[None, 3]],
        "turns": [],
        "status": "completed",
        "weight": 1.0,
        "experts": {"layers": 2, "top_k": 1, "width": "u8"},
        "indexer": {"layers": 1, "top_k": 2, "width": "i32"},
    }
    expected = [[[1], [2]], [[3], [4]]], [[[5, 6]], [[7, 8]]]
    bytes_of = bytes([1, 2, 3, 4]), numpy.array([5, 6, 7, 8], "<i4").tobytes()
    common = {"tokens": [1, 2, 3], "logprobs": [None, -1.0, -2.0], "reward": None}
    texts = [base64.b64encode(content).decode() for content in bytes_of]
    line = {**common, **own, "metadata": {}, "routed_experts": texts[0], "indexer_topk": texts[1]}
    record = {
        **{**common, "metadata": "{}", "verbatim": json.dumps(own)},
        **{"routed_experts": bytes_of[0], "indexer_topk": bytes_of[1]},
    }
    for one in (of_record(line), of_record(record)):
        assert one.routed_experts is not None and one.indexer_topk is not None
        assert (one.routed_experts.tolist(), one.indexer_topk.tolist()) == expected
        assert one.routed_experts.dtype == numpy.uint8 and one.loss_mask == [0, 1, 1]


def test_what_the_server_did_not_write_is_no_row() -> None:
    with pytest.raises(MalformedPayload, match="was not written by verbatim"):
        of_sample(Sample(tokens=[1]))
    own = {"prompt_length": 1, "mask": [[None, 2]], "versions": [[None, 1]], "turns": [], "status": "completed"}
    bent = Sample(tokens=[1], metadata={"verbatim": {**own, "weight": 1.0, "known": [[False, 1]]}})
    with pytest.raises(MalformedPayload, match="different lengths"):
        of_sample(bent)


def test_the_documentation_maps_every_field() -> None:
    page = (ROOT / "docs/rows.md").read_text()
    mapped = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    fields = set(Row.__dataclass_fields__) - {"cached_tokens", "total_prompt_tokens", "mask_cause"}
    assert fields | {"cache", "mask", "loss_mask"} <= mapped, fields - mapped
