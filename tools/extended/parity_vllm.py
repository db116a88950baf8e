"""vLLM's parsers, called as its chat endpoint calls them. Needs the Python of an installed vLLM
(tools/engines/install vllm) and Qwen3's tokenizer: the classes look marks up by their ids."""

import logging
import os
import pathlib

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")

from transformers import PreTrainedTokenizerFast  # noqa: E402
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest  # noqa: E402
from vllm.reasoning import ReasoningParserManager  # noqa: E402
from vllm.tool_parsers import ToolParserManager  # noqa: E402

logging.disable(logging.CRITICAL)

# The parsers that vLLM's documentation names for each model. Other classes of its need more of the
# model than its marks.
NAMES = {
    "qwen25": (None, "hermes"),
    "qwen3": ("qwen3", "hermes"),
    "qwennext": ("qwen3", "hermes"),
    "qwen35": ("qwen3", "qwen3_coder"),
    "qwen36": ("qwen3", "qwen3_coder"),
}


def _tokenizer() -> PreTrainedTokenizerFast:
    cache = pathlib.Path(os.environ.get("VERBATIM_CACHE", ".cache"))
    path = cache / "assets" / "tokenizer-qwen3" / "tokenizer.json"
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path))
    # Every parser asks for it, and it is made anew each time.
    vocabulary = tokenizer.get_vocab()
    tokenizer.get_vocab = lambda: vocabulary
    return tokenizer


TOKENIZER = _tokenizer()


def read(family: str, text: str, start: str, tools: list[dict]) -> dict:
    """What the endpoint would answer; `error` where a class raises."""
    reasoning_name, calls_name = NAMES[family]
    reasoning, content = None, text
    try:
        request = ChatCompletionRequest(messages=[{"role": "user", "content": "x"}], tools=tools, model="m")
        if reasoning_name:
            parser = ReasoningParserManager.get_reasoning_parser(reasoning_name)(TOKENIZER)
            reasoning, content = parser.extract_reasoning(text, request)
        calls = []
        if content:
            parser = ToolParserManager.get_tool_parser(calls_name)(TOKENIZER, request.tools)
            found = parser.extract_tool_calls(content, request)
            content = found.content
            calls = [{"name": c.function.name, "arguments": c.function.arguments} for c in found.tool_calls]
        return {"reasoning": reasoning, "content": content or "", "calls": calls}
    except Exception as error:  # noqa: BLE001: what a class raises is what is looked at
        return {"error": f"{type(error).__name__}: {error}"[:200], "reasoning": None, "content": "", "calls": []}
