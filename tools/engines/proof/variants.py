"""The engines as they are started, and the bounds that their rows must keep.

A bound is a small multiple of what was measured first, so that a later run fails when an engine or its
client drifts. Gaps are in nats: the logprob in the row against the logprob of scoring the row again.
"""
from dataclasses import dataclass

from .place import CACHE


@dataclass(frozen=True)
class Bound:
    """The largest gap of one token, and the largest mean gap."""

    max: float
    mean: float


@dataclass(frozen=True)
class Way:
    """One way of talking to a started engine."""

    name: str
    title: str
    # Flags of `verbatim`, for all of its commands but the probe, which asks with the family's parser.
    flags: tuple[str, ...] = ()
    # Scored by the engine itself, and by the embedded one.
    own: Bound = Bound(1e-2, 1e-3)
    embedded: Bound = Bound(1e-2, 1e-3)
    # Whether it leaves out the logprobs of tokens that are parts of a character.
    leaves_out: bool = False
    # Whether 20 sessions are run, or a few; or none.
    sessions: bool = True
    scored: bool = True
    fire: bool = True
    compare: bool = True


@dataclass(frozen=True)
class Variant:
    """One way of starting an engine, and what it can then do."""

    name: str
    engine: str
    dtype: str
    flags: tuple[str, ...]
    ways: tuple[Way, ...]
    model: str = "smollm2-135m-instruct"
    # Pause modes; an engine without any is held at the gate only.
    modes: tuple[str, ...] = ("abort", "retract", "in_place", "drain")
    versions: bool = True
    kill: bool = True


PARSED = ("--set", 'engine.parse="engine"')
# Measured: mean 3e-6, largest 5.5e-5 (2,856 tokens); against the embedded engine 1.7e-5 and 9.5e-5.
TORCH = {"own": Bound(3e-4, 2e-5), "embedded": Bound(5e-4, 1e-4)}
# Measured: mean 1.6e-6, largest 4.4e-5 (3,124 tokens); against the embedded engine 1.4e-4 and 3.6e-4.
GGML = {"own": Bound(3e-4, 2e-5), "embedded": Bound(2e-3, 5e-4)}
LLAMA = Way(name="llamacpp", title="llama-server `/completion`", leaves_out=True, **GGML)
VLLM_GENERATE = Way(name="vllm-generate", title="vLLM `/inference/v1/generate`", **TORCH)
VLLM_COMPLETIONS = Way(name="vllm-completions", title="vLLM `/v1/completions`", sessions=False, **TORCH)
VLLM_PARSE = Way(
    **TORCH,
    name="vllm-parse",
    title="vLLM `/v1/chat/completions`, `engine.parse`",
    flags=PARSED,
    sessions=False,
    fire=False,
    compare=False,
)
SGLANG_STREAMED = Way(name="sglang-streamed", title="SGLang `/generate`, streamed", **TORCH)
SGLANG_WHOLE = Way(name="sglang-whole", title="SGLang `/generate`, whole replies", sessions=False, **TORCH)
SGLANG_PARSE = Way(
    **TORCH,
    name="sglang-parse",
    title="SGLang `/v1/chat/completions`, `engine.parse`",
    flags=PARSED,
    sessions=False,
    fire=False,
    compare=False,
)
# The same weights as they were quantised, and computed with so: activations are rounded too. Measured over
# the 15 tokens before the conversations part: mean 3.9e-2, largest 1.5e-1.
LLAMA_QUANTISED = Way(
    name="llamacpp-q4", title="llama-server `/completion`, Q4_1", embedded=Bound(0.5, 0.15), scored=False, fire=False
)
HERMES = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")

VARIANTS = (
    Variant("llamacpp", "llamacpp", "float32", (), (LLAMA,), modes=(), versions=False),
    Variant(
        "llamacpp-q4", "llamacpp", "Q4_1", (), (LLAMA_QUANTISED,), str(CACHE / "assets/smollm2-135m-instruct/model.gguf")
    ),
    Variant("vllm", "vllm", "float32", HERMES, (VLLM_GENERATE, VLLM_PARSE)),
    Variant(
        "sglang",
        "sglang",
        "float32",
        ("--incremental-streaming-output", "--tool-call-parser", "qwen25"),
        (SGLANG_STREAMED, SGLANG_PARSE),
    ),
    Variant("sglang-whole", "sglang", "float32", (), (SGLANG_WHOLE,), kill=False),
    Variant(
        "vllm-completions", "vllm", "float32", ("--no-enable-scale-out",), (VLLM_COMPLETIONS,), kill=False
    ),
)


def chosen(names: list[str]) -> list[Variant]:
    """The variants of these names, each an engine's or a variant's own; all of them without one."""
    unknown = set(names) - {known for variant in VARIANTS for known in (variant.name, variant.engine)}
    if unknown:
        raise SystemExit(f"no engine or variant {', '.join(sorted(unknown))}")
    return [variant for variant in VARIANTS if not names or variant.name in names or variant.engine in names]
