#!/usr/bin/env python3
"""Make the golden prompts of crates/families from the official chat templates.

usage: make.py [--check] [FAMILY...]     write crates/families/tests/goldens/*.jsonl, or compare with
                                         what is there; all families if none is named

The templates and vocabularies are the fetched ones (tools/fetch.py); none of them is committed.
Rendering is done by transformers itself, tokenising by the tokenizers package, both installed into
a virtual environment under .cache/venvs on the first run. See README.md beside this file.
"""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = pathlib.Path(os.environ.get("VERBATIM_CACHE", ROOT / ".cache"))
VENV = CACHE / "venvs/goldens"
PACKAGES = ["transformers==5.24.0", "jinja2==3.1.6", "tokenizers==0.23.3", "tiktoken==0.14.0", "pillow==13.0.0", "numpy==2.4.6"]
OUT = ROOT / "crates/families/tests/goldens"
TOKENIZER = ROOT / "crates/tokenizer/tests/goldens"
ASSETS = ["smollm2-135m-instruct", "tokenizer-qwen3", "tokenizer-qwen25", "tokenizer-deepseek-v4", "tokenizer-gptoss", "tokenizer-gemma3", "tokenizer-llama32", "tokenizer-mistral-nemo", "tokenizer-qwen35", "surrogate", "chat-templates", "encoders", "kimi-declaration"]


def enter():
    """Run this file again inside the virtual environment."""
    python = VENV / "bin/python"
    if pathlib.Path(sys.prefix) == VENV:
        return
    made_of = VENV / "made-of"
    if not made_of.exists() or made_of.read_text() != " ".join(PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
        made_of.write_text(" ".join(PACKAGES))
    os.execv(python, [str(python), __file__, *sys.argv[1:]])


def main(check, wanted):
    import json

    import families
    import images
    import python_values
    import tiktoken_ids

    subprocess.run([sys.executable, str(ROOT / "tools/fetch.py"), *ASSETS], check=True)
    TOKENIZER.mkdir(parents=True, exist_ok=True)
    assets = families.Assets(CACHE / "assets", OUT)
    stale = []
    made = {name: lambda name=name: families.golden(name, assets) for name in families.FAMILIES}
    made |= {"python": python_values.golden, "conversations": families.written, "tiktoken": lambda: tiktoken_ids.golden(CACHE / "assets")}
    made |= {f"images-{name}": lambda name=name: images.golden(name, assets) for name in images.PROCESSORS}
    for name in wanted or made:
        lines = [json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in made[name]()]
        text = "\n".join(lines) + "\n"
        path = (TOKENIZER if name == "tiktoken" else OUT) / f"{name}.jsonl"
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
        print(f"{name}: {len(lines)} lines, {len(text)} bytes", flush=True)
    if stale:
        sys.exit(f"differs from what the official templates render: {', '.join(stale)}")


if __name__ == "__main__":
    enter()
    options = sys.argv[1:]
    main("--check" in options, [option for option in options if option != "--check"])
