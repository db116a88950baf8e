"""Samples files that the server's own tests keep, read by the package's codec, which shares no code with it."""
import numpy

from server import ROOT
from verbatim.codec import SampleStatus, decode
from verbatim.rows import read

FILES = ROOT / "crates/samples/tests/files"


def test_two_turns_decode_to_what_was_read_and_sampled() -> None:
    payload = decode((FILES / "two_turns.safetensors").read_bytes())
    assert payload.empty_reason is None
    assert payload.session_metadata == {"max_trim_tokens": 0, "note": "é"}
    [sample] = payload.samples
    assert sample.tokens == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert (sample.response_length, sample.response) == (6, "[4, 5, 6, 7, 8, 9]")
    assert sample.loss_mask == [1, 1, 0, 0, 1, 1]
    assert sample.rollout_log_probs == [-0.25, -0.5, 0.0, 0.0, -0.75, -1.0]
    assert sample.weight_versions == ["7", "8"]
    assert sample.prefix_cache_info == {"cached_tokens": 5, "total_prompt_tokens": 10}
    assert (sample.status, sample.reward) == (SampleStatus.COMPLETED, None)
    assert sample.rollout_routed_experts is None
    assert (sample.metadata["instance"], sample.metadata["answer"]) == ("x-1", 42)


def route(at: int, token: int) -> list[int]:
    """The route that the tests' engine gives a token: a function of its place and id."""
    return [(at * 31 & 255) ^ (token & 255), token * 7 & 255]


def test_branches_have_each_their_routes_and_train_what_they_share_once() -> None:
    payload = decode((FILES / "branched.safetensors").read_bytes())
    left, right = payload.samples
    assert left.tokens is not None and right.tokens is not None
    shared = left.tokens[:5]
    assert right.tokens[:5] == shared
    assert left.loss_mask is not None and right.loss_mask is not None
    assert (left.loss_mask[:2], right.loss_mask[:2]) == ([1, 1], [0, 0]), "the first owns the shared turn"
    assert (sum(left.loss_mask), sum(right.loss_mask)) == (5, 2), "a trimmed token trains nowhere"
    for sample in payload.samples:
        assert sample.tokens is not None
        told = sample.rollout_routed_experts
        assert isinstance(told, numpy.ndarray) and told.dtype == numpy.int32
        assert told.shape == (len(sample.tokens) - 1, 1, 2)
        for at, token in enumerate(sample.tokens[:-1]):
            assert told[at, 0].tolist() == route(at, token)


def test_credit_is_read_as_it_was_written() -> None:
    one, other = read(FILES / "credited.safetensors")
    assert (one.name, one.group_index, one.sample_index, one.reward) == ("main", 3, 13, 1.0)
    assert one.advantages == [0.25, -0.75] and one.turn_rewards == [None, 0.5]
    assert one.token_advantages == [0, 0, 0, 0.25, 0.25, 0, 0, -0.75, -0.75]
    assert (other.name, other.sample_index, other.advantages) == (None, None, -1.5)
