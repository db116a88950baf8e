"""The goldens of each family: which template, which edits, which vocabulary, what is refused.

An edit stands for one rule of the family's file in crates/families/src. `base` edits make the official
template of a model that no package carries out of one that a package does carry.
"""
import dataclasses
import hashlib
import json

import encoders
import gguf
from conversations import DECLARED, conversations
from official import Vocabulary, render

QWEN25_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
QWEN25VL_SYSTEM = "You are a helpful assistant."
SMOLLM2_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
OFF = {"enable_thinking": False}

QWEN3_EDITS = [
    # Rule 2.
    ("loop.index0 > ns.last_query_index", "loop.index0 > ns.last_query_index or not clear_thinking"),
    # Rule 1.
    ("loop.last or (not loop.last and reasoning_content)", "true"),
]
QWEN35_EDITS = [
    # Rule 1.
    ("loop.index0 > ns.last_query_index", "true"),
    # Rule 2.
    ("{%- if ns.multi_step_tool %}", "{%- if false %}"),
    # Rule 4.
    ('loop.previtem and loop.previtem.role != "tool"', 'not loop.previtem or loop.previtem.role != "tool"'),
]
QWEN36_BASE = [
    (
        "args_value | tojson | safe if args_value is mapping or (args_value is sequence and args_value is not string) else args_value | string",
        "args_value | string if args_value is string else args_value | tojson | safe",
    )
]
QWENNEXT_BASE = [
    ("{{- '<|im_start|>assistant\\n' }}", "{{- '<|im_start|>assistant\\n<think>\\n' }}"),
    ("enable_thinking is defined and enable_thinking is false", "false"),
]
NEMOTRON3_EDITS = [
    # Rule 2.
    ('loop.previtem and loop.previtem.role != "tool"', 'not loop.previtem or loop.previtem.role != "tool"'),
]
MINIMAX_EDITS = [
    # Rule 1.
    ("reasoning_content and loop.index0 > ns.last_user_index", "reasoning_content"),
    # Rule 4.
    ("tool.function | tojson", "(tool.function or tool) | tojson"),
]

# Rule 2 of both: who opens an assistant's turn.
DEEPSEEK_OPENER = '''def opener(messages, index, thinking_mode):
    if index < len(messages) and messages[index]["role"] != "assistant":
        return ""
    before = "\\n\\n" if TOOLS_OPEN and index > 0 and messages[index - 1]["role"] == "tool" else "<｜Assistant｜>"
    return before + (thinking_start_token if thinking_mode == "thinking" else thinking_end_token)


def render_message('''
DEEPSEEKV32_EDITS = [
    # Rule 1.
    ('thinking_mode == "thinking" and index > last_user_idx', 'thinking_mode == "thinking"'),
    ("if not (reasoning_content or tool_calls):", "if False:"),
    # Rule 2.
    ("def render_message(", DEEPSEEK_OPENER.replace("TOOLS_OPEN", "True")),
    ("<｜User｜>{content}<｜Assistant｜>", "<｜User｜>{content}"),
    ('if index == last_user_idx and thinking_mode == "thinking":\n            prompt += thinking_start_token\n        else:\n            prompt += thinking_end_token', "", 2),
    ('if index >= last_user_idx and thinking_mode == "thinking":\n                prompt += "\\n\\n" + thinking_start_token\n            else:\n                prompt += "\\n\\n" + thinking_end_token', ""),
    ("        prompt += assistant_msg_template.format(", "        prompt += opener(messages, index, thinking_mode)\n        prompt += assistant_msg_template.format("),
    ("    return prompt\n\n\ndef _read_until_stop(", "    return prompt + opener(full_messages, len(full_messages), thinking_mode)\n\n\ndef _read_until_stop("),
    # Rule 3.
    ("if tool_call_order == len(assistant_tool_calls):", 'if index + 1 == len(messages) or messages[index + 1]["role"] != "tool":'),
    # Rule 4.
    ('[tool["function"] for tool in tools]', '[tool.get("function", tool) for tool in tools]'),
]
DEEPSEEKV4_EDITS = [
    # Rule 2.
    ("def render_message(", DEEPSEEK_OPENER.replace("TOOLS_OPEN", "False")),
    ("        if wo_eos:\n", "        prompt += opener(messages, index, thinking_mode)\n        if wo_eos:\n"),
    ('    elif messages[index].get("role") in ["user", "developer"]:', "    elif False:"),
    ("    return prompt\n\n\ndef _drop_thinking_messages(", "    return prompt + opener(full_messages, len(full_messages), thinking_mode)\n\n\ndef _drop_thinking_messages("),
    # Rule 3.
    ('[tool["function"] for tool in tools]', '[tool.get("function", tool) for tool in tools]'),
    # Rule 5.
    ('if role == "assistant" and msg.get("tool_calls"):', 'if role == "assistant":'),
    ('enumerate(msg["tool_calls"])', 'enumerate(msg.get("tool_calls") or [])'),
]
SPOKEN_BY_DEEPSEEK = ["<think>", "</think>", "｜DSML｜"]

KIMI_BASE = [
    # Ids are those of the calls.
    (
        "{%- set formatted_id = 'functions.' + tool_call['function']['name'] + ':' + (tool_call_counter.value | string) -%}\n"
        "    {%- set tool_call_counter.value = tool_call_counter.value + 1 -%}\n"
        "    {%- set _ = tool_response_queue.ids.append(formatted_id) -%}",
        "{%- set formatted_id = tool_call['id'] -%}",
    ),
    (
        "{%- if tool_response_queue.ids -%}\n      {%- set tool_call_id = tool_response_queue.ids.pop(0) -%}\n    {%- else -%}\n"
        "      {%- set tool_call_id = 'functions.' + message.get('name', 'unknown') + ':' + (tool_call_counter.value | string) -%}\n    {%- endif -%}",
        "{%- set tool_call_id = message.tool_call_id -%}",
        2,
    ),
    # No system's words by default.
    (
        "{%- if messages|length == 0 or messages[0]['role'] != 'system' -%}\n"
        "  <|im_system|>system<|im_middle|>You are Kimi, an AI assistant created by Moonshot AI.<|im_end|>\n{%- endif -%}",
        "",
    ),
    # Tools as the tokenizer declares them.
    ("{{ tools | tojson }}", "{% if tools_ts_str %}{{ tools_ts_str }}{% else %}{{ tools | tojson(separators=(',', ':')) }}{% endif %}"),
    # The thinking switch.
    (
        "{%- if add_generation_prompt -%}\n  <|im_assistant|>assistant<|im_middle|>\n{%- endif -%}",
        "{%- if add_generation_prompt -%}\n  <|im_assistant|>assistant<|im_middle|>\n"
        "  {%- if thinking is defined and thinking is false -%}\n  <think></think>\n  {%- else -%}\n  <think>\n  {%- endif -%}\n{%- endif -%}",
    ),
]
KIMI_EDITS = [
    # Rule 1.
    ("messages[:ns.last_non_tool_call_assistant_msg+1]", "[]"),
    ("messages[ns.last_non_tool_call_assistant_msg+1:]", "messages"),
    # Rule 2.
    ("message.get('name') or  message['role']", "message['role'] if message['role'] == 'assistant' else message.get('name') or message['role']"),
    # Rule 3.
    ("{%- if thinking is defined and thinking is false -%}", "{%- if thinking | default(enable_thinking) is false -%}"),
]

LLAMA3_EDITS = [
    # Rule 1.
    ("""{{- '{"name": "' + tool_call.name + '", ' }}""", """{{- (message.content | trim + '<|python_tag|>' if message.content | trim else '') + '{"name": "' + tool_call.name + '", ' }}"""),
]

INKLING_EDITS = [
    # Rule 1.
    (
        "            if len(input_ids) > turn_start:\n",
        "            if len(input_ids) == turn_start:\n                input_ids.append(tokenizer.encode_special(MESSAGE_MODEL))\n            if True:\n",
    ),
    # Rule 2.
    ('            reasoning_content = message.get("reasoning_content")\n', '            tool_call_id_to_name = {}\n            reasoning_content = message.get("reasoning_content")\n'),
    # Rule 3.
    ('tool.get("function", {})', 'tool.get("function", tool)'),
]


MISTRAL_EDITS = [
    # Rule 1.
    (
        "{%- if message['content'] is string and message['content'] != '' %}",
        "{%- if message.reasoning_content %}{{- '[THINK]' + message.reasoning_content + '[/THINK]' }}{%- endif %}"
        "{%- if message['content'] is string and message['content'] != '' %}",
    ),
    # Rule 2.
    ("(message['role'] == 'user') != (ns.index % 2 == 0)", "false"),
    ("{{- raise_exception('Assistant message must have a string or a list of chunks in content or a list of tool calls.') }}", ""),
    # Rule 4.
    ("arguments|tojson|safe", "arguments|tojson"),
]

# What follows the check of an assistant's turn that calls, up to its end.
GPTOSS_EDITS = [
    # Rule 1.
    (
        """{{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}""",
        """{%- if message.thinking %}{{- "<|start|>assistant<|channel|>analysis<|message|>" + message.thinking + "<|end|>" }}{%- endif %}"""
        """{{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}""",
    ),
    ("{%- elif message.thinking and not future_final_message.found %}", "{%- endif %}{%- if message.thinking %}"),
    # Rule 2.
    ("{%- if message.content and message.thinking %}", "{%- if false %}"),
    ("{%- elif message.content and not future_final_message.found %}", "{%- elif false %}"),
    (
        """{{- "<|start|>assistant to=" }}""",
        """{%- if message.content %}{{- "<|start|>assistant<|channel|>commentary<|message|>" + message.content + "<|end|>" }}{%- endif %}"""
        # Rule 3.
        """{%- for called in message.tool_calls %}{%- set tool_call = called.function %}{{- "<|start|>assistant to=" }}""",
    ),
    ("""{{- "<|call|>" }}""", """{{- "<|call|>" }}{%- endfor %}{%- set last_tool_call.calls = message.tool_calls %}"""),
    # Rule 4.
    (
        """{{- "<|start|>functions." + last_tool_call.name }}""",
        """{%- set own = namespace(name=last_tool_call.name) %}"""
        """{%- for called in last_tool_call.calls %}{%- if called.id == message.tool_call_id %}{%- set own.name = called.function.name %}{%- endif %}{%- endfor %}"""
        """{{- "<|start|>functions." + own.name }}""",
    ),
    # Rule 5.
    ("{%- set tool = tool.function %}", "{%- set tool = tool.function or tool %}"),
    ("""{{- "// " + tool.description + "\\n" }}""", """{%- if tool.description %}{{- "// " + tool.description + "\\n" }}{%- endif %}"""),
    ("""{{- ", // default: " + param_spec.default }}""", """{{- ", // default: " + (param_spec.default if param_spec.default is string else param_spec.default|tojson) }}"""),
    ("""{{- "// default: " + param_spec.default }}""", """{{- "// default: " + (param_spec.default if param_spec.default is string else param_spec.default|tojson) }}"""),
]

GEMMA3_EDITS = [
    # Rule 1.
    ("(message['role'] == 'user') != (loop.index0 % 2 == 0)", "false"),
]


def minimax_base(version):
    identity = f"You are a helpful assistant. Your name is MiniMax-{version} and is built by MiniMax."
    return [('model_identity = "You are a helpful assistant."', f'model_identity = "{identity}"')]


def later_system(messages):
    """A system message that is not the first."""
    return any(message["role"] == "system" for message in messages[1:])


def no_user_first(messages, tools, template):
    """Tools that are declared to the user, where no user's message comes first."""
    rest = messages[1:] if messages[0]["role"] == "system" else messages
    return bool(tools) and template.get("tools_in_user_message", True) and (not rest or rest[0]["role"] != "user")


def misplaced_system(messages):
    """A later system message that does not stand between an assistant's turn and a user's message."""
    roles = [message["role"] for message in messages]
    leading = next((at for at, role in enumerate(roles) if role != "system"), len(roles))
    late = [at for at, role in enumerate(roles) if role == "system" and at > leading]
    return any(roles[at - 1] not in ("assistant", "system") or roles[at + 1 : at + 2] not in (["user"], ["system"]) for at in late)


def system_alone(messages):
    """A system message that no user's message follows."""
    return messages[0]["role"] == "system" and [message["role"] for message in messages[1:2]] != ["user"]


def late_system(messages):
    """A system message that is not at the beginning."""
    roles = [message["role"] for message in messages]
    return any(role == "system" for role in roles[next((at for at, role in enumerate(roles) if role != "system"), len(roles)) :])


def switched_off(template):
    """Thinking switched off, where the family cannot. Only `true` is what is fixed."""
    return template.get("enable_thinking", True) is not True


@dataclasses.dataclass
class Family:
    template: str  # NAME of a file of the asset "chat-templates", or the asset of a vocabulary
    vocabulary: str  # an asset, or "surrogate"
    edits: list = dataclasses.field(default_factory=list)
    base: list = dataclasses.field(default_factory=list)
    arguments: dict = dataclasses.field(default_factory=dict)
    modes: list = dataclasses.field(default_factory=lambda: [{}])
    refuses: list = dataclasses.field(default_factory=list)  # (rule, predicate over the messages)
    fixed: bool = False  # whether enable_thinking is fixed to true
    given: dict = dataclasses.field(default_factory=dict)  # what the official tools hand to the template beside
    reasoning: str = "reasoning_content"  # what the template calls a message's reasoning
    toolless: bool = False  # whether its format has no tools (rule 4 of gemma3): a result is then what a user says
    spoken: list = None  # the tokens that a model writes as part of what it says, if its vocabulary does not tell
    instead: str = ""  # the template that is edited in its place, which it must equal without tools (SmolLM2)


FAMILIES = {
    "qwen3": Family("tokenizer-qwen3", "tokenizer-qwen3", QWEN3_EDITS, arguments={"clear_thinking": False}, modes=[{}, OFF]),
    "qwen25": Family("tokenizer-qwen25", "tokenizer-qwen25"),
    "qwen25vl": Family("tokenizer-qwen25", "tokenizer-qwen25", base=[(QWEN25_SYSTEM, QWEN25VL_SYSTEM, 2)]),
    "smollm2": Family("smollm2-135m-instruct", "smollm2-135m-instruct", [(QWEN25_SYSTEM, SMOLLM2_SYSTEM, 2)], instead="tokenizer-qwen25"),
    "qwennext": Family("tokenizer-qwen3", "tokenizer-qwen3", QWEN3_EDITS, QWENNEXT_BASE, {"clear_thinking": False}, fixed=True),
    "qwen35": Family("Qwen3.5-4B", "tokenizer-qwen35", QWEN35_EDITS, modes=[{}, OFF], refuses=[("rule 3", later_system)]),
    "qwen36": Family("Qwen3.5-4B", "tokenizer-qwen35", QWEN35_EDITS, QWEN36_BASE, modes=[{}, OFF], refuses=[("rule 3", later_system)]),
    "mistral": Family(
        "mistralai-Ministral-3-14B-Reasoning-2512", "tokenizer-mistral-nemo", MISTRAL_EDITS, given={"bos_token": "<s>", "eos_token": "</s>"},
        spoken=["[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]"],
        refuses=[("rule 3", later_system)],
    ),
    "nemotron3": Family(
        "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "surrogate", NEMOTRON3_EDITS, arguments={"truncate_history_thinking": False}, modes=[{}, OFF]
    ),
    "glm47": Family("GLM-4.7-Flash", "surrogate", arguments={"clear_thinking": False}, modes=[{}, OFF]),
    "gemma3": Family(
        "tokenizer-gemma3", "tokenizer-gemma3", GEMMA3_EDITS, given={"bos_token": "<bos>"},
        refuses=[("rule 3", later_system), ("rule 2", system_alone)], toolless=True,
    ),
    "gptoss": Family(
        "openai-gpt-oss-120b", "tokenizer-gptoss", GPTOSS_EDITS, modes=[{}, {"reasoning_effort": "high"}], refuses=[("rule 6", later_system)],
        fixed=True, reasoning="thinking",
    ),
    "minimax_m25": Family("MiniMax-M2", "surrogate", MINIMAX_EDITS, minimax_base("M2.5"), refuses=[("rule 2", later_system)], fixed=True),
    "minimax_m27": Family("MiniMax-M2", "surrogate", MINIMAX_EDITS, minimax_base("M2.7"), refuses=[("rule 2", later_system)], fixed=True),
    "kimi25": Family("Kimi-K2-Thinking", "surrogate", KIMI_EDITS, KIMI_BASE, {"wrap": True}, modes=[{}, {"thinking": False}]),
    "kimi26": Family("Kimi-K2-Thinking", "surrogate", KIMI_EDITS, KIMI_BASE, {"wrap": True}, modes=[{}, {"thinking": False}]),
    "llama3": Family(
        "meta-llama-Llama-3.1-8B-Instruct", "tokenizer-llama32", LLAMA3_EDITS, given={"bos_token": "<|begin_of_text|>"},
        modes=[{}, {"tools_in_user_message": False, "date_string": "30 Nov 2026"}], refuses=[("rule 2", no_user_first)], spoken=["<|python_tag|>"],
    ),
    "inkling": Family(
        "inkling_renderer.py", "surrogate", INKLING_EDITS, modes=[{}, {"reasoning_effort": 0.25}], fixed=True, spoken=[],
    ),
    "deepseekv32": Family(
        "encoding_dsv32.py", "tokenizer-deepseek-v4", DEEPSEEKV32_EDITS, arguments={"drop_thinking": False}, modes=[{}, {"thinking": False}],
        refuses=[("rule 5", misplaced_system)], spoken=SPOKEN_BY_DEEPSEEK,
    ),
    "deepseekv4": Family(
        "encoding_dsv4.py", "tokenizer-deepseek-v4", DEEPSEEKV4_EDITS, arguments={"drop_thinking": False},
        modes=[{"reasoning_effort": "max"}, {"thinking": False}], refuses=[("rule 4", late_system)], spoken=SPOKEN_BY_DEEPSEEK,
    ),
}


def edited(template, edits):
    for old, new, *times in edits:
        assert [template.count(old)] == (times or [1]), f"the official template holds {old!r} {template.count(old)} times"
        template = template.replace(old, new)
    return template


class Assets:
    """Templates and vocabularies, each read once."""

    def __init__(self, home, tests):
        self.home, self.tests, self.known = home, tests, {}

    def template(self, name):
        if name == "smollm2-135m-instruct":
            return gguf.smollm2(self.home / name / "model.gguf")[1]
        if name.startswith("tokenizer-"):
            return json.loads((self.home / name / "tokenizer_config.json").read_text())["chat_template"]
        if name.endswith(".py"):
            source = (self.home / "encoders" / name).read_text()
            if "inkling" in name:
                # What it imports is put in place of the import.
                start = source.index("from llm_router_utils")
                tokens = (self.home / "encoders" / "inkling_tokenizer.py").read_text().replace("from __future__ import annotations\n", "")
                source = source[:start] + tokens + source[source.index(")\n", start) + 2 :]
            return source
        return (self.home / "chat-templates" / f"{name}.jinja").read_text()

    def vocabulary(self, name, family):
        key = (family if name == "surrogate" else name, FAMILIES[family].spoken is None)
        if key not in self.known:
            self.known[key] = Vocabulary(self.config(name, family), FAMILIES[family].spoken)
            if family.startswith("kimi"):
                program = (self.home / "kimi-declaration" / "kimi_k2_5_tool_declaration_ts.py").read_text()
                self.known[key].declare = encoders.kimi_declared(program)
                self.known[key].argument_text = True
        return self.known[key]

    def config(self, name, family):
        """The tokenizer.json of a vocabulary; of a surrogate with the family's special tokens."""
        if name == "smollm2-135m-instruct":
            return gguf.smollm2(self.home / name / "model.gguf")[0]
        config = json.loads((self.home / ("surrogate" if name == "surrogate" else name) / "tokenizer.json").read_text())
        if name == "surrogate":
            added = json.loads((self.tests / "surrogates.json").read_text())
            known = len(config["model"]["vocab"])
            plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
            tokens = [(token, True) for token in added[family]["control"]] + [(token, False) for token in added[family]["markers"]]
            config["added_tokens"] = [{"id": known + at, "content": token, "special": special, **plain} for at, (token, special) in enumerate(tokens)]
        return config


def golden(name, assets):
    """The lines of a family's file: a header, then one line a conversation and mode."""
    family = FAMILIES[name]
    vocabulary = assets.vocabulary(family.vocabulary, name)
    source = assets.template(family.template)
    native = edited(source, family.base)
    appending = edited(assets.template(family.instead) if family.instead else native, family.edits)
    yield {
        "family": name,
        "template": family.template,
        "sha256": hashlib.sha256(source.encode()).hexdigest(),
        "base": len(family.base),
        "edits": len(family.edits),
        "vocabulary": family.vocabulary,
        "modes": family.modes,
    }
    last = {}
    for at, conversation in enumerate(conversations()):
        conversation = encoders.toolless(conversation) if family.toolless else conversation
        own = conversation.get("template")
        for mode, asked in enumerate(family.modes):
            if own is not None and mode > 0:
                continue
            template = own if own is not None else asked
            messages = conversation["messages"]
            if name.startswith("kimi"):
                messages = encoders.kimi_ids(messages)
            if family.reasoning != "reasoning_content":
                messages = [{family.reasoning if key == "reasoning_content" else key: value for key, value in message.items()} for message in messages]
            entry = {**conversation, "messages": messages, "template": {**family.given, **template}}
            refused = next((rule for rule, applies in family.refuses if (applies(messages, conversation.get("tools"), template) if applies is no_user_first else applies(messages))), None)
            if family.fixed and switched_off(template):
                refused = "enable_thinking"
            official = attempt(native, vocabulary, entry)
            full = None if refused else attempt(appending, vocabulary, entry, **family.arguments)
            if full is None:
                yield [at, mode, refused or "official"]
                continue
            toolless = not conversation.get("tools") and all(m["role"] != "tool" and not m.get("tool_calls") for m in messages)
            assert not (family.instead and toolless) or official == full, conversation["name"]
            key = json.dumps(conversation.get("tools") or None)
            line = [at, mode, delta(last.get(key, []), full), prompts(appending, vocabulary, entry, full, **family.arguments)]
            last[key] = full
            if official != full:
                line.append(None if official is None else delta(full, official))
            yield line


# How official templates and encoders refuse.
REFUSALS = ("TemplateError", "UndefinedError", "TypeError", "DS32EncodingError", "KeyError")


def attempt(template, vocabulary, conversation, **arguments):
    """The ids, or none where the template refuses the conversation."""
    try:
        return render(template, vocabulary, conversation, conversation["messages"], **arguments)
    except Exception as error:
        assert type(error).__name__ in REFUSALS, repr(error)
        return None


def delta(base, ids):
    """How many ids are the base's first ones, how many its last ones, and those between."""
    most = min(len(base), len(ids))
    prefix = next((at for at in range(most) if base[at] != ids[at]), most)
    suffix = next((at for at in range(most - prefix) if base[-1 - at] != ids[-1 - at]), most - prefix)
    return [prefix, suffix, ids[prefix : len(ids) - suffix]]


def prompts(template, vocabulary, conversation, full, **arguments):
    """How long the prompt of each assistant's turn is, as a prefix of the whole; null where the
    turn cannot have been sampled from its prompt (a think block that the prompt has closed)."""
    lengths = []
    for at, message in enumerate(conversation["messages"]):
        if message["role"] == "assistant":
            prompt = attempt(template, vocabulary, {**conversation, "messages": conversation["messages"][:at]}, **arguments) if at else None
            lengths.append(len(prompt) if prompt and full[: len(prompt)] == prompt else None)
    return lengths


def written():
    """The conversations as the tests read them."""
    return [{"tools": DECLARED}, *conversations()]
