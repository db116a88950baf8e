"""The samples file: read and written by the package, checked against the server and against bent files."""
from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import safetensors.numpy

import rows as readers
from server import Server
from verbatim import codec
from verbatim.codec import MalformedPayload, MissingPart, Payload, Sample, SampleStatus, decode, encode


def sample(**changed: Any) -> Sample:
    made = Sample(
        tokens=[1, 2, 3, 4, 5],
        response="né",
        response_length=3,
        status=SampleStatus.TRUNCATED,
        loss_mask=[1, 0, 1],
        rollout_log_probs=[-0.1, 0.0, -1.0 / 3.0],
        rollout_routed_experts=numpy.arange(16, dtype=numpy.int32).reshape(4, 2, 2),
        weight_versions=["a", "b"],
        prefix_cache_info={"cached_tokens": 5, "total_prompt_tokens": 10},
        metadata={"leaf": {"node_id": 1}, "text": "ü\u2028", "lifecycle": [{"t0": None}]},
        reward={"accuracy": 1.0},
        extra={"spec_info": {"spec_verify_ct": 3}},
    )
    for name, value in changed.items():
        setattr(made, name, value)
    return made


def fields(one: Sample) -> dict[str, Any]:
    return {
        name: value.tolist() if isinstance(value, numpy.ndarray) else value
        for name, value in vars(one).items()
        if name != "origin"
    }


def test_what_is_encoded_is_decoded() -> None:
    written = Payload([sample(), sample(reward=None, rollout_routed_experts=None)], {"name": "s", "tree": {}}, None)
    payload = decode(encode(written))
    assert [fields(one) for one in payload.samples] == [fields(one) for one in written.samples]
    assert payload.session_metadata == written.session_metadata and payload.empty_reason is None
    assert [one.origin for one in payload.samples] == [0, 1]
    first = payload.samples[0].rollout_routed_experts
    assert first is not None and first.dtype == numpy.int32


def test_an_empty_reply_says_why() -> None:
    payload = decode(encode(Payload([], {"name": "s"}, "all_truncated")))
    assert payload.samples == [] and payload.empty_reason == "all_truncated"


def test_no_rows_and_no_tensor_are_different_things() -> None:
    none = numpy.empty((0, 2, 2), numpy.int32)
    one = Sample(tokens=[], loss_mask=[], rollout_log_probs=[], rollout_routed_experts=none)
    [back] = decode(encode(Payload([one]))).samples
    assert back.rollout_routed_experts is not None and back.rollout_routed_experts.shape == (0, 2, 2)
    assert back.rollout_indexer_topk is None


def test_a_null_of_tokens_is_a_list_of_its_own() -> None:
    blank = {**entry(), "response_length": 0, "nulls": list(codec.sample.WIRE)}
    payload = decode(bent(lambda meta, _: meta["samples"].extend([blank, blank])))
    assert payload.samples[1].tokens == [] and payload.samples[1].tokens is not payload.samples[2].tokens


def test_what_is_not_contiguous_is_written_as_it_reads() -> None:
    turned = numpy.arange(16, dtype=numpy.int32).reshape(2, 2, 4).transpose(2, 1, 0)
    [back] = decode(encode(Payload([sample(rollout_routed_experts=turned)]))).samples
    assert numpy.array_equal(back.rollout_routed_experts, turned)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("loss_mask", [1, -1, 0], "loss_mask values do not fit wire dtype uint8"),
        ("loss_mask", [1, 0.5, 0], "loss_mask values do not fit wire dtype uint8"),
        ("loss_mask", [1, 256, 0], "loss_mask values do not fit wire dtype uint8"),
        ("tokens", [1, 2, 3, 4, 2.5], "tokens values do not fit wire dtype int64"),
        ("rollout_log_probs", ["a", "b", "c"], "must be a list of numbers"),
        ("rollout_routed_experts", numpy.zeros((4, 2, 2), numpy.int64), "must have dtype int32, got int64"),
        ("rollout_routed_experts", numpy.zeros((4, 4), numpy.int32), "must have rank 3"),
        ("loss_mask", [1, 0], "2 values of loss_mask"),
        ("metadata", {"nan": float("nan")}, "is not JSON"),
        ("metadata", {"set": {1}}, "is not JSON"),
    ],
)
def test_what_the_file_cannot_hold_is_refused(name: str, value: Any, message: str) -> None:
    with pytest.raises(MalformedPayload, match=message):
        encode(Payload([sample(**{name: value})]))


def entry() -> dict[str, Any]:
    return {
        "response": "x",
        "response_length": 1,
        "status": "completed",
        "weight_versions": [],
        "prefix_cache_info": {},
        "metadata": {},
        "nulls": ["rollout_routed_experts", "rollout_indexer_topk"],
    }


Bend = Callable[[dict[str, Any], dict[str, Any]], Any]


def bent(bend: Bend, file: Callable[[bytes], bytes] = lambda content: content) -> bytes:
    """A file of one sample, as Miles' first version writes it, after `bend(meta, tensors)`."""
    meta: dict[str, Any] = {"samples": [entry()], "session_metadata": {}, "empty_reason": None}
    tensors: dict[str, Any] = {
        "tokens.0": numpy.array([1, 2], numpy.int64),
        "loss_mask.0": numpy.array([1], numpy.uint8),
        "rollout_log_probs.0": numpy.array([-0.5], numpy.float64),
    }
    bend(meta, tensors)
    if "_samples_meta" not in tensors:
        tensors["_samples_meta"] = numpy.frombuffer(json.dumps(meta).encode(), numpy.uint8)
    return file(safetensors.numpy.save({name: value for name, value in tensors.items() if value is not None}))


def of_sample(**changed: Any) -> Bend:
    return lambda meta, _: meta["samples"][0].update(changed)


def without(name: str) -> Bend:
    return lambda meta, _: meta["samples"][0].pop(name)


def tensors(**changed: Any) -> Bend:
    return lambda _, all_of_them: all_of_them.update({name.replace("__", "."): v for name, v in changed.items()})


def test_a_file_of_the_first_version_is_read() -> None:
    [one] = decode(bent(lambda meta, _: meta["samples"][0].update(unheard_of=1))).samples
    assert (one.tokens, one.loss_mask, one.rollout_log_probs, one.reward) == ([1, 2], [1], [-0.5], None)
    assert one.extra == {"unheard_of": 1}


MALFORMED: list[tuple[str, bytes, type[Exception], str]] = [
    ("not a file", b"", MalformedPayload, "not a safetensors file"),
    ("cut", bent(tensors(), lambda content: content[:-3]), MalformedPayload, "not a safetensors file"),
    ("no meta", bent(lambda _, t: t.update(_samples_meta=None)), MissingPart, "there is no _samples_meta"),
    ("meta of rank 2", bent(tensors(_samples_meta=numpy.zeros((1, 2), numpy.uint8))), MalformedPayload, "rank 2"),
    ("meta of i8", bent(tensors(_samples_meta=numpy.zeros(2, numpy.int8))), MalformedPayload, "is int8"),
    ("meta is no JSON", bent(tensors(_samples_meta=numpy.zeros(2, numpy.uint8))), MalformedPayload, "not JSON"),
    ("no nulls", bent(without("nulls")), MissingPart, "nulls is missing"),
    ("no status", bent(without("status")), MissingPart, "status is missing"),
    ("a tensor missing", bent(tensors(loss_mask__0=None)), MissingPart, "loss_mask.0 is missing"),
    ("a null of no tensor", bent(of_sample(nulls=["response"])), MalformedPayload, "'response', which is no tensor"),
    ("tokens of i32", bent(tensors(tokens__0=numpy.zeros(2, numpy.int32))), MalformedPayload, "is int32"),
    ("metadata a list", bent(of_sample(metadata=[])), MalformedPayload, "metadata of sample 0 is list"),
    ("a left-over tensor", bent(tensors(tokens__1=numpy.zeros(2, numpy.int64))), MalformedPayload, "no sample: tokens.1"),
    ("an unknown status", bent(of_sample(status="lost")), MalformedPayload, "unknown status 'lost'"),
    ("a short mask", bent(of_sample(response_length=2)), MalformedPayload, "1 values of loss_mask"),
    ("a length of true", bent(of_sample(response_length=True)), MalformedPayload, "is bool, not int"),
]


@pytest.mark.parametrize(("content", "error", "message"), [case[1:] for case in MALFORMED], ids=[c[0] for c in MALFORMED])
def test_a_malformed_file_is_refused_by_what_is_wrong(content: bytes, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        decode(content)
    assert isinstance(caught.value, KeyError if error is MissingPart else ValueError)


def test_the_servers_file_is_read_as_other_readers_read_it_and_written_again(swift: Server) -> None:
    session = swift.open(lineage="linear")
    messages: list[Any] = [{"role": "user", "content": "one"}]
    with session.client() as client:
        for _ in range(2):
            reply = client.chat.completions.create(model="policy", messages=messages)
            messages += [reply.choices[0].message.model_dump(exclude_none=True), {"role": "user", "content": "two"}]
    content = session.rows_file("safetensors", reward=1.0)
    [row] = readers.from_safetensors(content)
    payload = decode(content)
    [one] = payload.samples
    assert tuple(one.tokens) == row.tokens and one.reward == row.reward and one.prompt_length == row.prompt_length
    assert (0,) * one.prompt_length + tuple(one.loss_mask or ()) == row.loss_mask
    again = decode(encode(payload))
    assert [fields(one) for one in again.samples] == [fields(one) for one in payload.samples]
    assert readers.same(readers.from_safetensors(encode(payload)), [row])
