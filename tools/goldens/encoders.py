"""Official encoders that are Python programs, run as SGLang runs them."""
import copy


def is_program(template):
    return "\ndef encode_messages(" in template


def encode(program, messages, tools, arguments):
    """The prompt of DeepSeek's encoder. Tools belong to the first message, which is the system's: an
    empty one where the conversation has none."""
    names = {}
    exec(compile(program, "encoder", "exec"), names)
    if tools:
        if not messages or messages[0]["role"] != "system":
            messages = [{"role": "system", "content": ""}, *messages]
        messages[0]["tools"] = tools
    options = {name: arguments[name] for name in ("drop_thinking", "reasoning_effort") if name in arguments}
    mode = "thinking" if thinks(arguments) else "chat"
    return names["encode_messages"](messages, thinking_mode=mode, **options)


def is_inkling(template):
    return "\ndef render_inkling_messages(" in template


def inkling(program, messages, tools, arguments, vocabulary):
    """The ids of Inkling's renderer, which writes tokens itself."""
    names = {"__name__": "__main__"}
    exec(compile(program, "renderer", "exec"), names)

    class Tokenizer:
        encode_text = staticmethod(lambda text: vocabulary.plain.encode(vocabulary.show(text), add_special_tokens=False).ids)
        encode_special = staticmethod(lambda token: vocabulary.ids[token])

    options = {name: arguments[name] for name in ("reasoning_effort",) if name in arguments}
    return names["render_inkling_messages"](messages, Tokenizer(), tools=tools, add_generation_prompt=True, **options)


def kimi_declared(program):
    """How Kimi's tokenizer hands tools to its template: keys in order, and as TypeScript where it can."""
    names = {"__name__": "__main__"}
    exec(compile(program, "declaration", "exec"), names)

    def declared(tools):
        tools = in_order(tools)
        try:
            return {"tools": tools, "tools_ts_str": names["encode_tools_to_typescript_style"](tools)}
        except Exception:
            return {"tools": tools}

    return declared


def in_order(value):
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(item) for item in value] if isinstance(value, list) else value


def kimi_ids(messages):
    """The conversation with the ids that Kimi gives its calls, counted through it."""
    messages, ids, count = copy.deepcopy(messages), {}, 0
    for message in messages:
        for call in message.get("tool_calls", []):
            ids[call["id"]] = own = f"functions.{call['function']['name']}:{count}"
            call["id"] = own
            count += 1
        if message.get("tool_call_id") in ids:
            message["tool_call_id"] = ids[message["tool_call_id"]]
    return messages


def toolless(conversation):
    """The conversation of an agent whose tools are no part of the format: a result is what a user says."""
    messages = [{key: value for key, value in message.items() if key != "tool_calls"} for message in conversation["messages"]]
    messages = [{**message, "role": "user"} if message["role"] == "tool" else message for message in messages]
    return {**conversation, "messages": messages, "tools": []}


def thinks(arguments):
    """Thinking is on unless the first argument that is given says otherwise (Miles §4.2)."""
    given = [arguments[name] for name in ("thinking_mode", "enable_thinking", "thinking") if name in arguments]
    return bool(given[0]) and given[0] != "chat" if given else True
