#!/usr/bin/env python3
"""A second opinion: the goldens' conversations as the package `renderers` renders them.

usage: second.py [--check] [FAMILY...]    write docs/second-opinion.md, or compare with what is there

The package is another reading of the official templates, so it is compared with what the unedited
templates render. Every difference is of one kind that is judged below; one of no kind fails.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = pathlib.Path(os.environ.get("VERBATIM_CACHE", ROOT / ".cache"))
VENV = CACHE / "venvs/renderers"
PACKAGES = ["renderers==0.1.12", "httpx==0.28.1", "transformers==5.24.0", "jinja2==3.1.6", "tokenizers==0.23.3", "tiktoken==0.14.0"]
TABLE = ROOT / "docs/second-opinion.md"
OUT = ROOT / "crates/families/tests/goldens"


def enter():
    """Run this file again inside its virtual environment."""
    if pathlib.Path(sys.prefix) == VENV:
        return
    made_of = VENV / "made-of"
    if not made_of.exists() or made_of.read_text() != " ".join(PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin/python", "-m", "pip", "install", "-q", *PACKAGES], check=True)
        made_of.write_text(" ".join(PACKAGES))
    os.execv(VENV / "bin/python", [str(VENV / "bin/python"), __file__, *sys.argv[1:]])


# The package's configuration for each family, and what it calls the switches of the modes.
FAMILIES = {
    "qwen3": ("Qwen3RendererConfig", {}),
    "qwen35": ("Qwen35RendererConfig", {"enable_thinking": True}),
    "qwen36": ("Qwen36RendererConfig", {"enable_thinking": True}),
    "glm47": ("GLM51RendererConfig", {}),
    "nemotron3": ("Nemotron3RendererConfig", {}),
    "kimi25": ("KimiK25RendererConfig", {}),
    "minimax_m25": ("MiniMaxM2RendererConfig", {}),
    "deepseekv4": ("DeepSeekV4RendererConfig", {}),
    "gptoss": ("GptOssRendererConfig", {"conversation_start_date": "2025-03-04"}),
    "llama3": ("Llama3RendererConfig", {}),
}


def harmony_vocabulary(assets):
    """The ranks that the package `openai-harmony` would download, out of the vocabulary that we have."""
    folder = CACHE / "renderers"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "o200k_base.tiktoken"
    if not path.exists():
        import tiktoken_ids

        table = tiktoken_ids.bytes_of()
        vocabulary = json.loads((assets / "tokenizer-gptoss/tokenizer.json").read_text())["model"]["vocab"]
        ranks = sorted((id, bytes(table[character] for character in entry)) for entry, id in vocabulary.items())
        path.write_bytes(b"".join(base64.b64encode(entry) + b" %d\n" % id for id, entry in ranks))
    os.environ["TIKTOKEN_ENCODINGS_BASE"] = str(folder)


def compared(name, assets):
    """Each conversation and mode, with what the official template and what the package renders."""
    import families
    from renderers import configs, create_renderer
    from transformers import PreTrainedTokenizerFast

    family = families.FAMILIES[name]
    vocabulary = assets.vocabulary(family.vocabulary, name)
    native = families.edited(assets.template(family.template), family.base)
    kind, options = FAMILIES[name]
    for mode in family.modes:
        config = getattr(configs, kind)(**{**options, **mode})
        renderer = create_renderer(PreTrainedTokenizerFast(tokenizer_object=vocabulary.whole), config)
        for conversation in families.conversations():
            if conversation.get("template") is not None:
                continue
            messages = conversation["messages"]
            if name.startswith("kimi"):
                messages = families.encoders.kimi_ids(messages)
            if family.reasoning != "reasoning_content":
                messages = [{family.reasoning if key == "reasoning_content" else key: value for key, value in message.items()} for message in messages]
            entry = {**conversation, "messages": messages, "template": {**family.given, **mode}}
            official = families.attempt(native, vocabulary, entry)
            if official is None:
                continue
            declared = [families.DECLARED[tool] for tool in conversation.get("tools", [])]
            own = families.encoders.kimi_ids(conversation["messages"]) if name.startswith("kimi") else conversation["messages"]
            prepared = json.loads(json.dumps(own))
            for message in prepared:
                if isinstance(message.get("content"), list):
                    message["content"] = "".join(part["text"] for part in message["content"])
                message["content"] = message.get("content") or ""
            try:
                theirs = renderer.render_ids(prepared, tools=declared or None, add_generation_prompt=True)
            except Exception as error:
                theirs = repr(error)
            yield conversation, mode, vocabulary, official, theirs


def texts(conversation):
    """Everything that somebody wrote in it."""
    for message in conversation["messages"]:
        yield message["role"], json.dumps([message.get(key) for key in ("content", "reasoning_content", "tool_calls")], ensure_ascii=False)


def spells(conversation, vocabulary, declared):
    control = vocabulary.border
    return any(control.search(text) for _, text in texts(conversation)) or control.search(json.dumps(declared, ensure_ascii=False))


def rewritten(conversation):
    """Whether argument text is not what parsing and spelling it anew gives."""
    calls = [call["function"]["arguments"] for message in conversation["messages"] for call in message.get("tool_calls", [])]
    return any(isinstance(text, str) and json.dumps(json.loads(text), ensure_ascii=False) != text for text in calls)


def roles(conversation):
    return [message["role"] for message in conversation["messages"]]


def late(conversation):
    return "system" in roles(conversation)[1:]


def answered(conversation, *keys):
    return any(message["role"] == "assistant" and any(message.get(key) for key in keys) for message in conversation["messages"])


def blank(conversation):
    """A text that begins or ends with whitespace, or is empty."""
    for message in conversation["messages"]:
        for text in (message.get("content"), message.get("reasoning_content")):
            parts = [part["text"] for part in text] if isinstance(text, list) else [text]
            if any(part is not None and part != part.strip() or part == "" for part in parts):
                return True
    return False


# Kinds of difference, the first that applies: its name, to which families it belongs, when it applies
# (the conversation, the mode, the vocabulary, the declarations), who is right and why.
KINDS = [
    ("spelled tokens", None, lambda c, m, v, d: spells(c, v, d),
     "A text spells a special token. The package makes it the token; here it stays text (rule 6 of `qwen3`). Ours: nobody but the template and the model may make tokens."),
    ("declarations of another model", ["glm47"], lambda c, m, v, d: bool(d),
     "The package knows GLM-5.1, whose template declares a tool without what stands around `function`; GLM-4.7's shows the whole. Both, each of its own model."),
    ("a later system message", ["nemotron3", "kimi25", "minimax_m25", "deepseekv4", "gptoss", "llama3", "glm47"], lambda c, m, v, d: late(c),
     "A system message that is not the first: the package refuses it, or shows it where the template does not. The template, which is what engines run."),
    ("an orphaned result", None, lambda c, m, v, d: roles(c)[0] == "tool",
     "A result that comes first: the package opens a turn for it, the template does not. The package; the families' rules do the same."),
    ("harmony's own headers", ["gptoss"], lambda c, m, v, d: True,
     "The package writes with OpenAI's library: it opens `<|channel|>analysis<|message|>` in the prompt, writes instructions without the empty line after them, and headers of calls without `json`. Both are harmony: here prompts are the template's, and what a model samples is kept and read in either form."),
    ("thinking switched off", None, lambda c, m, v, d: m.get("enable_thinking") is False or m.get("thinking") is False,
     "With thinking off the package writes empty think blocks into history; the template's history does not look at the switch. The template."),
    ("argument text", None, lambda c, m, v, d: rewritten(c),
     "The package prints argument text as it came, or in another spelling of JSON; here it is parsed and spelled anew (rule 5 of `qwen3`), as SGLang does before it renders. Ours, for parity with engines."),
    ("an inline think block", None, lambda c, m, v, d: any(role == "assistant" and "</think>" in text for role, text in texts(c)),
     "A think block spelled out in content: the template takes it for reasoning, the package leaves it in the content. The template."),
]


def differences(names):
    import families

    harmony_vocabulary(CACHE / "assets")
    assets = families.Assets(CACHE / "assets", OUT)
    table, unexplained = [], []
    for name in names:
        found, same = {}, 0
        for conversation, mode, vocabulary, official, theirs in compared(name, assets):
            declared = [families.DECLARED[tool] for tool in conversation.get("tools", [])]
            if theirs == official:
                same += 1
                continue
            kind = next((kind for kind, whose, applies, _ in KINDS if (whose is None or name in whose) and applies(conversation, mode, vocabulary, declared)), None)
            if kind is None:
                unexplained.append((name, conversation["name"], mode, shown(vocabulary, official, theirs)))
            found[kind] = found.get(kind, 0) + 1
        table.append((name, FAMILIES[name][0], same, found))
        print(name, same, found, flush=True)
    return table, unexplained


def shown(vocabulary, official, theirs):
    """Where two prompts part."""
    if isinstance(theirs, str):
        return theirs[:120]
    at = next((at for at, pair in enumerate(zip(official, theirs)) if pair[0] != pair[1]), min(len(official), len(theirs)))
    return [vocabulary.whole.decode(ids[max(0, at - 4) : at + 8], skip_special_tokens=False) for ids in (official, theirs)]


HEAD = """# A second opinion

Written by `python3 tools/goldens/second.py`: the conversations of the goldens as version 0.1.12 of the package
`renderers` renders them, against what the unedited official templates render. The package is another reading of the
templates, made for training as this one is. Conversations that a template refuses are left out.

| Family | Its renderer | The same ids | Different, by kind |
|---|---|---|---|
"""


def main(check, names):
    table, unexplained = differences(names or FAMILIES)
    for name, conversation, mode, where in unexplained:
        print(f"unexplained: {name} {conversation} {mode}: {where}", file=sys.stderr)
    if unexplained:
        sys.exit(f"{len(unexplained)} differences of no known kind")
    if names:
        return
    text = HEAD
    for name, kind, same, found in table:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found.items(), key=lambda pair: -pair[1])) or "none"
        text += f"| `{name}` | {kind.removesuffix('Config')} | {same} | {kinds} |\n"
    seen = {kind for *_, found in table for kind in found}
    text += "\nWho is right, and why:\n\n"
    text += "".join(f"- **{kind}**: {why}\n" for kind, _, _, why in KINDS if kind in seen)
    if not check:
        TABLE.write_text(text)
    elif not TABLE.exists() or TABLE.read_text() != text:
        sys.exit(f"{TABLE.relative_to(ROOT)} is not what was found: run {pathlib.Path(__file__).relative_to(ROOT)}")


if __name__ == "__main__":
    enter()
    main("--check" in sys.argv[1:], [name for name in sys.argv[1:] if name != "--check"])
