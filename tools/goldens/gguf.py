"""The vocabulary and the chat template inside a GGUF file."""
import struct

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


def metadata(path):
    """The key-value pairs at a GGUF file's beginning."""
    with open(path, "rb") as file:

        def unpack(layout):
            return struct.unpack("<" + layout, file.read(struct.calcsize("<" + layout)))

        def value(kind):
            if kind == STRING:
                return file.read(unpack("Q")[0]).decode("utf-8")
            if kind == ARRAY:
                kind, count = unpack("IQ")
                return [value(kind) for _ in range(count)]
            return unpack(SCALARS[kind])[0]

        magic, _, _, pairs = unpack("4sIQQ")
        assert magic == b"GGUF", path
        found = {}
        for _ in range(pairs):
            key = value(STRING)
            found[key] = value(unpack("I")[0])
        return found


def smollm2(path):
    """SmolLM2's tokenizer.json and chat template. Its pre-tokeniser is named in the file
    ("smollm") and is: single digits apart, then GPT-2's byte-level rules."""
    found = metadata(path)
    assert (found["tokenizer.ggml.model"], found["tokenizer.ggml.pre"]) == ("gpt2", "smollm")
    tokens, kinds = found["tokenizer.ggml.tokens"], found["tokenizer.ggml.token_type"]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    config = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, "content": t, **plain} for i, t in enumerate(tokens) if kinds[i] == 3],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": found["tokenizer.ggml.merges"],
        },
    }
    return config, found["tokenizer.chat_template"]
