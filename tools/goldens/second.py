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
    "deepseekv4": ("DeepSeekV4RendererConfig", {"enable_thinking": True}),
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
        named = {"enable_thinking" if key == "thinking" and name == "deepseekv4" else key: value for key, value in mode.items()}
        config = getattr(configs, kind)(**{**options, **named})
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


def same_text(vocabulary, official, theirs):
    return not isinstance(theirs, str) and vocabulary.whole.decode(official, skip_special_tokens=False) == vocabulary.whole.decode(theirs, skip_special_tokens=False)


def harmony(vocabulary, official, theirs):
    """Whether two prompts are the same but for what OpenAI's library writes otherwise than the template."""
    if isinstance(theirs, str):
        return False
    official, theirs = (vocabulary.whole.decode(ids, skip_special_tokens=False).replace("\n\n<|end|>", "<|end|>") for ids in (official, theirs))
    return official.replace("commentary json<|message|>", "commentary<|message|>") == theirs.removesuffix("<|channel|>analysis<|message|>")


def calls(conversation):
    return max((len(message.get("tool_calls", [])) for message in conversation["messages"]), default=0)


def preamble(conversation):
    return any(message.get("tool_calls") and message.get("content") for message in conversation["messages"])


# Kinds of difference, the first that applies: its name, to which families it belongs, when it applies
# (the conversation, the mode, the vocabulary, the declarations, the official ids and theirs), who is right and why.
KINDS = [
    ("spelled tokens", None, lambda c, m, v, d, o, t: spells(c, v, d),
     "A text spells a special token. The package makes it the token; here it stays text (rule 6 of `qwen3`). Ours: nobody but the template and the model may make tokens."),
    ("declarations of another model", ["glm47"], lambda c, m, v, d, o, t: bool(d),
     "The package knows GLM-5.1, whose template declares a tool without what stands around `function`; GLM-4.7's shows the whole. Both, each of its own model."),
    ("a later system message", ["nemotron3", "kimi25", "minimax_m25", "deepseekv4", "gptoss", "llama3", "glm47"], lambda c, m, v, d, o, t: late(c),
     "A system message that is not the first: the package refuses it, or shows it where the template does not. The template, which is what engines run."),
    ("an orphaned result", None, lambda c, m, v, d, o, t: roles(c)[0] == "tool",
     "A result that comes first: the package opens a turn for it, the template does not. The package; the families' rules do the same."),
    ("an assistant's turn first", ["llama3"], lambda c, m, v, d, o, t: [r for r in roles(c) if r != "system"][:1] == ["assistant"] and bool(d),
     "Tools are declared to the user, and an assistant speaks first: the package refuses, the template shows the turn as a user's. The package; so does rule 2 of `llama3`."),
    ("the same text in other tokens", None, lambda c, m, v, d, o, t: same_text(v, o, t),
     "The package encodes a message apart from the words around it, so that newlines at its border are other tokens; the template is encoded as one text. The template, for history; what a model samples keeps its tokens in both."),
    ("efforts of another revision", ["deepseekv4"], lambda c, m, v, d, o, t: "reasoning_effort" in m,
     "The package knows three efforts; what the official encoder says for `max` it says for `high`. The encoder, of the revision that is here."),
    ("an empty instruction", ["gptoss"], lambda c, m, v, d, o, t: c["messages"][0]["role"] == "system" and not c["messages"][0]["content"],
     "An empty system message: the package writes an empty developer's message, the template none. The template."),
    ("harmony's own headers", ["gptoss"], lambda c, m, v, d, o, t: harmony(v, o, t),
     "The package writes with OpenAI's library: it opens `<|channel|>analysis<|message|>` in the prompt, leaves out the empty line after instructions and `json` in the header of a call. Both are harmony: here prompts are the template's, and what a model samples is kept and read in either form."),
    ("content beside a call", ["gptoss"], lambda c, m, v, d, o, t: preamble(c),
     "The template shows it as analysis, the package as an answer. Neither: here it is commentary, which is where the model writes it (rule 2 of `gptoss`)."),
    ("several calls in a turn", ["gptoss"], lambda c, m, v, d, o, t: calls(c) > 1,
     "The template leaves out all but the first. The package; so does rule 3 of `gptoss`."),
    ("harmony's own declarations", ["gptoss"], lambda c, m, v, d, o, t: bool(d),
     "OpenAI's library lays types, defaults and results out otherwise than the template. The template, which engines are given."),
    ("thinking switched off", None, lambda c, m, v, d, o, t: m.get("enable_thinking") is False or m.get("thinking") is False,
     "With thinking off the package writes empty think blocks into history; the template's history does not look at the switch. The template."),
    ("argument text", None, lambda c, m, v, d, o, t: rewritten(c),
     "The package prints argument text as it came, or in another spelling of JSON; here it is parsed and spelled anew (rule 5 of `qwen3`), as SGLang does before it renders. Ours, for parity with engines."),
    ("an inline think block", None, lambda c, m, v, d, o, t: any(role == "assistant" and "</think>" in text for role, text in texts(c)),
     "A think block spelled out in content: the template takes it for reasoning, the package leaves it in the content. The template."),
    ("a bare tool", None, lambda c, m, v, d, o, t: any("function" not in tool for tool in d),
     "A tool that is declared without `function` around it: the template fails, leaves it out or shows it as it is; the package declares it like any other. Either; no family here leaves it out."),
    ("escapes in a declaration", None, lambda c, m, v, d, o, t: "numbers" in c.get("tools", []),
     "The package escapes characters, or spells numbers, in a tool's schema otherwise than the template's `tojson`. The template."),
    ("an empty block of another model", ["glm47"], lambda c, m, v, d, o, t: True,
     "The package, which knows GLM-5.1, opens the empty block of a turn after the last user's message; GLM-4.7's template only closes it. The template, for GLM-4.7."),
    ("reasoning of earlier turns", None, lambda c, m, v, d, o, t: answered(c, "reasoning_content"),
     "The two keep the reasoning of different earlier turns. Neither: here every turn keeps its own (rule 1 of each family), or nothing could be appended."),
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
            kind = next((kind for kind, whose, applies, _ in KINDS if (whose is None or name in whose) and applies(conversation, mode, vocabulary, declared, official, theirs)), None)
            if kind is None:
                unexplained.append(name)
                print(f"unexplained: {name} {conversation['name']} {mode}: {shown(vocabulary, official, theirs)}", file=sys.stderr, flush=True)
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
templates, made for training as this one is. Conversations that a template refuses are left out. A kind is told by what
the conversation holds, or by what the two texts have in common; the first kind that applies counts.

| Family | Its renderer | The same ids | Different, by kind |
|---|---|---|---|
"""


def main(check, names):
    table, unexplained = differences(names or FAMILIES)
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
