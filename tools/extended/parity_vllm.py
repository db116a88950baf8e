"""vLLM's parsers, called as its chat endpoint calls them. Needs the Python of an installed vLLM
(tools/engines/install vllm). The classes look marks up by their ids, so each is given the vocabulary, or the
surrogate, that the family's goldens have."""

import functools
import json
import logging
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("VERBATIM_CACHE", ROOT / ".cache"))
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
# Where harmony's library finds its ranks (tools/goldens/second.py puts them there).
os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", str(CACHE / "renderers"))
sys.path.append(str(ROOT / "tools" / "goldens"))

import families  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest  # noqa: E402
from vllm.reasoning import ReasoningParserManager  # noqa: E402
from vllm.tool_parsers import ToolParserManager  # noqa: E402

logging.disable(logging.CRITICAL)

# The parsers that vLLM's documentation names for each model.
NAMES = {
    "qwen25": (None, "hermes"),
    "qwen3": ("qwen3", "hermes"),
    "qwennext": ("qwen3", "hermes"),
    "qwen35": ("qwen3", "qwen3_coder"),
    "qwen36": ("qwen3", "qwen3_coder"),
    "nemotron3": ("nemotron_v3", "qwen3_coder"),
    "glm47": ("glm47", "glm47"),
    "minimax_m25": ("minimax_m2", "minimax_m2"),
    "minimax_m27": ("minimax_m2", "minimax_m2"),
    "kimi25": ("kimi_k2", "kimi_k2"),
    "kimi26": ("kimi_k2", "kimi_k2"),
    "deepseekv32": ("deepseek_v3", "deepseek_v32"),
    "deepseekv4": ("deepseek_v4", "deepseek_v4"),
    "llama3": (None, "llama3_json"),
    "mistral": ("mistral", "mistral"),
    "gptoss": ("openai_gptoss", "openai"),
}
# DeepSeek V3's reasoning is off unless the request's template arguments switch it on.
TEMPLATE = {"deepseekv32": {"thinking": True}, "deepseekv4": {"thinking": True}}


@functools.cache
def tokenizer_of(family: str) -> PreTrainedTokenizerFast:
    assets = families.Assets(CACHE / "assets", _goldens())
    config = assets.config(families.FAMILIES[family].vocabulary, family)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(config)))
    # Every parser asks for it, and it is made anew each time.
    vocabulary = tokenizer.get_vocab()
    tokenizer.get_vocab = lambda: vocabulary
    return tokenizer


def _goldens() -> pathlib.Path:
    return ROOT / "crates" / "families" / "tests" / "goldens"


@functools.cache
def classes(family: str) -> tuple:
    """The two classes; importing one takes seconds."""
    reasoning, calls = NAMES[family]
    return reasoning and ReasoningParserManager.get_reasoning_parser(reasoning), ToolParserManager.get_tool_parser(calls)


def read(family: str, text: str, start: str, tools: list[dict]) -> dict:
    """What the endpoint would answer; `error` where a class raises."""
    reasoning_class, calls_class = classes(family)
    tokenizer = tokenizer_of(family)
    asked = TEMPLATE.get(family, {})
    reasoning, content = None, text
    try:
        request = ChatCompletionRequest(
            messages=[{"role": "user", "content": "x"}], tools=tools, model="m", chat_template_kwargs=asked
        )
        if family == "gptoss":
            return _harmony(text, request, tokenizer, reasoning_class, calls_class)
        if reasoning_class:
            parser = reasoning_class(tokenizer, chat_template_kwargs=asked)
            reasoning, content = parser.extract_reasoning(text, request)
        calls = []
        if content:
            found = calls_class(tokenizer, request.tools).extract_tool_calls(content, request)
            content = found.content
            calls = [{"name": c.function.name, "arguments": c.function.arguments} for c in found.tool_calls]
        return {"reasoning": reasoning, "content": content or "", "calls": calls}
    except Exception as error:  # noqa: BLE001: what a class raises is what is looked at
        return {"error": f"{type(error).__name__}: {error}"[:200], "reasoning": None, "content": "", "calls": []}


def _harmony(text: str, request: object, tokenizer: object, reasoning_class: type, calls_class: type) -> dict:
    """Harmony is read from ids, by a class of its own."""
    from vllm.parser.harmony import HarmonyParser

    HarmonyParser.reasoning_parser_cls, HarmonyParser.tool_parser_cls = reasoning_class, calls_class
    ids = tokenizer.encode(text, add_special_tokens=False)
    reasoning, content, calls = HarmonyParser(tokenizer, request.tools).parse(text, request, True, ids)
    made = [{"name": call.name, "arguments": call.arguments} for call in calls or []]
    return {"reasoning": reasoning, "content": content or "", "calls": made}
