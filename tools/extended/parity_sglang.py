"""SGLang's parsers, called as its chat endpoint calls them: reasoning first, then calls in what is left."""

import logging
import warnings

warnings.filterwarnings("ignore")

from llm_router_utils.sglang.srt.entrypoints.openai.protocol import Tool  # noqa: E402
from llm_router_utils.sglang.srt.function_call.function_call_parser import FunctionCallParser  # noqa: E402
from llm_router_utils.sglang.srt.parser.reasoning_parser import ReasoningParser  # noqa: E402

logging.disable(logging.CRITICAL)

# The parsers that SGLang's documentation names for each model.
NAMES = {
    "qwen25": (None, "qwen25"),
    "qwen3": ("qwen3", "qwen25"),
    "qwennext": ("qwen3-thinking", "qwen25"),
    "qwen35": ("qwen3", "qwen3_coder"),
    "qwen36": ("qwen3", "qwen3_coder"),
    "nemotron3": ("nemotron_3", "qwen3_coder"),
    "glm47": ("glm45", "glm47"),
    "minimax_m25": ("minimax", "minimax-m2"),
    "minimax_m27": ("minimax", "minimax-m2"),
    "kimi25": ("kimi_k2", "kimi_k2"),
    "kimi26": ("kimi_k2", "kimi_k2"),
    "deepseekv32": ("deepseek-v3", "deepseekv32"),
    "deepseekv4": ("deepseek-v4", "deepseekv4"),
    "llama3": (None, "llama3"),
    "mistral": ("mistral", "mistral"),
    "gptoss": ("gpt-oss", "gpt-oss"),
}


def read(family: str, text: str, start: str, tools: list[dict]) -> dict:
    """What the endpoint would answer; `error` where a class raises."""
    reasoning_name, calls_name = NAMES[family]
    reasoning, content = None, text
    try:
        if reasoning_name:
            parser = ReasoningParser(
                reasoning_name, stream_reasoning=False, force_reasoning=start == "reasoning", tool_call_parser_active=True
            )
            reasoning, content = parser.parse_non_stream(text)
        calls = []
        content = content or ""
        given = [Tool(**tool) for tool in tools]
        detector = FunctionCallParser(given, calls_name)
        if detector.has_tool_call(content):
            content, found = detector.parse_non_stream(content)
            calls = [{"name": call.name, "arguments": call.parameters} for call in found]
        return {"reasoning": reasoning, "content": content or "", "calls": calls}
    except Exception as error:  # noqa: BLE001: what a class raises is what is looked at
        return {"error": f"{type(error).__name__}: {error}"[:200], "reasoning": None, "content": "", "calls": []}
