"""Conversations drawn by chance, the same ones every time: shapes that agents have and shapes that
they should not have, with texts that renderers trip over."""
import json
import random

COUNT = 170

TEXTS = [
    "Hi", "ok", "", " ", "\n", "\n\n", "a\n", "\nb", "  two  spaces  ", "tab\there\t", "line one\nline two\r\nline three",
    "日本語のテキスト。", "Привет, мир!", "مرحبا بالعالم", "한국어 문장", "naïve café — “quoted” … ½", "👩‍🚀 🇩🇪 🙂\u200d", "e\u0301\u0323",
    "fn main() {\n    println!(\"{}\", 1_000.5e-7);\n}\n", "```python\nprint('hi')\n```", "<b>html</b> & \"quotes\" 'single'",
    "{\"json\": [1, 2.50, null, true], \"s\": \"\\u00e9\"}", "$ ls -la | grep '^d' && echo \\$HOME", "1234567890 3.14159 -0 1e-7",
    "user", "assistant\n", "system", "tool", "ai", "model", "None", "True", "false", "a{{ b }}{% c %}", "x" * 60, "The quick brown fox. " * 6,
]
SPELLINGS = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>",
    "<|user|>", "<|assistant|>", "<|observation|>", "<|system|>", "[gMASK]", "<sop>", "<arg_key>", "</arg_value>", "]~b]", "[e~[", "]~!b[",
    "<minimax:tool_call>", "</minimax:tool_call>", "<function=f>", "</function>", "<parameter=a>", "</parameter>", "<invoke name=\"f\">", "</invoke>",
    "<|eot_id|>", "<|start_header_id|>", "<|python_tag|>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", "｜DSML｜", "<|im_user|>", "<|im_middle|>",
    "<|tool_calls_section_begin|>", "<|tool_call_argument_begin|>", "<|start|>", "<|channel|>", "<|message|>", "<|call|>", "<|return|>", "<|end|>",
    "<start_of_turn>", "<end_of_turn>", "<turn|>", "<|turn>", "<|tool_call>", "<|\"|>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[ARGS]", "[THINK]", "</s>", "<s>", "<bos>", "<eos>",
    "<|message_user|>", "<|message_model|>", "<|content_text|>", "<|end_message|>",
]
SHAPES = [
    "S U A", "U A", "U A U", "S U A U A U", "U A1 T A", "S U A1 T A", "S U A1 T A1 T A", "U A2 T T A U", "S U A3 T T T A", "S U A1 T U A", "U A1 T A1 T A1 T A1 T A",
    "S U Ar U", "S U Ar U Ar U Ar", "U A1r T Ar", "S U A1r T A1r T Ar U A1r T Ar", "S U A2r T T Ar U Ar", "U A1r T A1 T A1r T A", "U Ar U A U Ar U A",
    "S U A1 T A1 T U A1 T", "U U A", "S U A U U A", "S U A1 T T A", "U A A U", "U A1 A1 T", "S S U A", "U A S U A", "S U A1 T S A1r T", "A U A", "U A1", "U A1r", "U Ar", "S",
]
VALUES = ["Paris", "東京", "", " ", "false", "007", "12", "null", "None", "1.50", "a\nb", "\n", "  indent\n    more\n", "</x>", "a\"b\\c", "{\"k\": 1}", "[1]", "<&>",
          1, 0, -3, 1.0, 2.5, 1e22, 1e-7, True, False, None, [], {}, [1, "a", None], {"k": {"z": [True, 1.5]}}, ["é", "\u2028"]]


def texts(random_, marks):
    text = random_.choice(TEXTS)
    if random_.random() < marks:
        text += random_.choice(SPELLINGS) + random_.choice(TEXTS)
    if random_.random() < 0.15:
        text = random_.choice(TEXTS) + "\n" + text
    return text


def conversations(tools):
    """Name, the tools' names, messages."""
    random_ = random.Random(20261130)
    names = list(tools)
    for at in range(COUNT):
        shape = SHAPES[at % len(SHAPES)]
        declared = random_.sample(names, random_.choice([1, 1, 2])) if "1" in shape or "2" in shape or "3" in shape or random_.random() < 0.2 else None
        yield f"drawn_{at:03}", declared, list(messages(random_, shape, declared or []))


def messages(random_, shape, declared):
    calls = []
    made = 0
    for word in shape.split():
        if word == "T":
            made_call = calls.pop(0) if calls else {"id": "call_x", "function": {"name": "get_weather"}}
            yield {"role": "tool", "tool_call_id": made_call["id"], "name": made_call["function"]["name"], "content": texts(random_, 0.15)}
        elif word in "SU":
            text = texts(random_, 0.2)
            parts = [{"type": "text", "text": text}, {"type": "text", "text": texts(random_, 0)}]
            yield {"role": {"S": "system", "U": "user"}[word], "content": parts if random_.random() < 0.1 else text}
        else:
            count = int(word.strip("Ar") or 0)
            message = {"role": "assistant", "content": texts(random_, 0.08) if not count or random_.random() < 0.5 else random_.choice([None, ""])}
            if word.endswith("r"):
                message["reasoning_content"] = texts(random_, 0.05)
            calls = []
            for _ in range(count):
                made += 1
                keys = random_.sample(["city", "a", "b", "command", "x y", "é"], random_.choice([0, 1, 1, 2, 3]))
                arguments = {key: random_.choice(VALUES) for key in keys}
                name = random_.choice(["get_weather", "bash", "numbers", "bare"])
                calls.append({"id": f"call_{made}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}})
            if calls:
                message["tool_calls"] = list(calls)
            yield message
