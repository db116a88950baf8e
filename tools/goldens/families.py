"""The goldens of each family: which template, which edits, which proof."""
import json

import gguf
from conversations import conversations
from official import Vocabulary, render

QWEN25_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
SMOLLM2_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

# Rules 1 and 2 of crates/families/src/qwen3.rs as edits of the official template.
QWEN3_EDITS = [
    ("loop.index0 > ns.last_query_index", "loop.index0 > ns.last_query_index or not clear_thinking"),
    ("loop.last or (not loop.last and reasoning_content)", "true"),
]


def edited(template, edits):
    for old, new in edits:
        assert template.count(old) == 1, f"the official template does not hold {old!r} once"
        template = template.replace(old, new)
    return template


def qwen(assets, name):
    config = json.loads((assets / name / "tokenizer.json").read_text())
    return Vocabulary(config), json.loads((assets / name / "tokenizer_config.json").read_text())["chat_template"]


def prompts(template, vocabulary, conversation, full, **arguments):
    """How long the prompt of each assistant's turn is, as a prefix of the whole; null where the
    turn cannot have been sampled from its prompt (a think block that the prompt has closed)."""
    lengths = []
    for at, message in enumerate(conversation["messages"]):
        if message["role"] == "assistant":
            prompt = render(template, vocabulary, conversation, conversation["messages"][:at], **arguments) if at else None
            lengths.append(len(prompt) if prompt and full[: len(prompt)] == prompt else None)
    return lengths


def goldens(assets):
    qwen3, qwen3_template = qwen(assets, "tokenizer-qwen3")
    qwen25, qwen25_template = qwen(assets, "tokenizer-qwen25")
    config, smollm2_template = gguf.smollm2(assets / "smollm2-135m-instruct/model.gguf")
    smollm2 = Vocabulary(config)
    yield "qwen3", family(qwen3, qwen3_template, edited(qwen3_template, QWEN3_EDITS), True, clear_thinking=False)
    yield "qwen25", family(qwen25, qwen25_template, qwen25_template, False)
    # Without tools this must be SmolLM2's own template; family() sees to that.
    hermes = qwen25_template.replace(QWEN25_SYSTEM, SMOLLM2_SYSTEM)
    yield "smollm2", family(smollm2, smollm2_template, hermes, False)


def family(vocabulary, native, appending, thinks, **arguments):
    entries = []
    for conversation in conversations(thinks):
        messages = conversation["messages"]
        official = render(native, vocabulary, conversation, messages)
        full = render(appending, vocabulary, conversation, messages, **arguments)
        entry = {**conversation, "ids": full}
        toolless = not conversation.get("tools") and all(
            m["role"] != "tool" and not m.get("tool_calls") for m in messages
        )
        if not thinks and toolless:
            assert official == full, conversation["name"]
        if official != full:
            entry["native"] = official
        entry["prompts"] = prompts(appending, vocabulary, conversation, full, **arguments)
        entries.append(entry)
    return entries
