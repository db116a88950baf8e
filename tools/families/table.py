#!/usr/bin/env python3
"""Run the tests of every family and write what they counted to docs/families.md.

usage: table.py [--check]     write docs/families.md, or compare with what is there

Nothing in the table is written by hand: counts come from the tests as they pass, templates and
vocabularies from the goldens' first lines, rules from the families' own files.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GOLDENS = ROOT / "crates/families/tests/goldens"
SOURCES = ROOT / "crates/families/src"
TABLE = ROOT / "docs/families.md"
FILES = {"qwen36": "qwen35", "kimi25": "kimi", "kimi26": "kimi", "minimax_m25": "minimax", "minimax_m27": "minimax"}
# Where the vocabulary is another model's.
VOCABULARIES = {"deepseekv32": "DeepSeek V4's", "llama3": "Llama 3.2's", "qwen25vl": "Qwen2.5's", "mistral": "Mistral Nemo's"}
HEAD = """# Families, proven

Written by `python3 tools/families/table.py`, which runs the tests and counts what they did.

| Family | Template | Vocabulary | Goldens equal | of them unlike the official | Refused | Cuts | Sessions | Replies | Drawn cases |
|---|---|---|---|---|---|---|---|---|---|
"""
NOTES = """
- **Template**: the official chat template, or the official encoder where that is a Python program, as a package carries
  it, with the first digits of its SHA-256. "+n" is the number of edits that make it the template of a model that no
  package carries.
- **Vocabulary**: *its own*, or a *surrogate*: 20,000 entries of Qwen3's with the family's special tokens. With a surrogate
  the words and the special tokens are proven, the ids of the model are not. No package has the vocabularies of GLM-4.7,
  MiniMax M2, Nemotron 3, Kimi K2 and Inkling. Llama 3.1, 3.2 and 3.3 share one. Ministral 3 has the words of Mistral Nemo's,
  whose reserved places here have the names of later special tokens. DeepSeek V3.2 shares the words of V4's vocabulary, not
  all special tokens' ids; V3's has the same words and merges as V4's, and none of the tokens that V3.2 thinks with.
  What is drawn at random is drawn over a surrogate wherever there is one.
  Gemma 3 has no format for tools: its conversations are the same ones without declarations and calls, and a result is what
  a user says.
- **Goldens equal**: conversations and thinking modes that render, id for id, as Python's own Jinja renders the template, or Python runs the encoder,
  under the family's rules, and how many of those the unedited template renders otherwise. **Refused** ones are refused
  where the template or a rule says so.
- **Cuts**: places after an assistant's turn where what came before stayed as it was and the extension was what the whole has.
- **Sessions**: conversations that grew turn by turn into the render of the whole.
- **Replies**: sampled turns that were parsed and said again in the same ids.
- **Drawn cases**: conversations, ids and texts drawn at random: any split parses alike, nothing is lost, nothing panics,
  no text of a person or a tool becomes a control token, what is said is read again. `VERBATIM_CASES` draws more.

## Rules

What a family does otherwise than its official template; `crates/families/tests/it/rules*.rs` shows each. Rules 4, 6 and 7
of `qwen3` hold for all families.
"""


def counted():
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "VERBATIM_EVIDENCE": folder}
        subprocess.run(["cargo", "test", "--quiet", "--workspace", "--test", "it", "each::"], cwd=ROOT, env=environment, check=True)
        return {path.name: int(path.read_text()) for path in pathlib.Path(folder).iterdir()}


def rules(source):
    lines = [line[4:] if line.startswith("//! ") else "" for line in source.read_text().splitlines() if line.startswith("//!")]
    found = []
    for line in lines:
        if re.match(r"\d+\. ", line):
            found.append(line)
        elif found and line.startswith("   "):
            found[-1] += " " + line.strip()
        elif found and not line:
            found.append("")
    return [re.sub(r"\[`crate::(\w+)`\]", r"`\1`", rule) for rule in found if rule]


def main(check):
    counts = counted()
    families = sorted({name.split(".")[0] for name in counts})
    text = HEAD
    for family in families:
        header = json.loads((GOLDENS / f"{family}.jsonl").open().readline())
        of = lambda what: counts[f"{family}.{what}"]
        cases = sum(count for name, count in counts.items() if name.startswith(f"{family}.cases."))
        template = header["template"].removeprefix("tokenizer-") + (f" +{header['base']}" if header["base"] else "")
        vocabulary = "surrogate" if header["vocabulary"] == "surrogate" else VOCABULARIES.get(family, "its own")
        cells = [
            f"`{family}`", f"{template} `{header['sha256'][:12]}`", vocabulary, of("goldens"), of("differing"), of("refused"),
            of("cuts"), of("sessions"), of("replies"), cases,
        ]
        text += "| " + " | ".join(map(str, cells)) + " |\n"
    text += NOTES
    for file in dict.fromkeys(FILES.get(family, family) for family in families):
        found = rules(SOURCES / f"{file}.rs")
        names = [f"`{family}`" for family in families if FILES.get(family, family) == file]
        text += f"\n**{', '.join(names)}** (`{file}.rs`)\n\n" + ("\n".join(found) or "None of its own.") + "\n"
    if not check:
        TABLE.write_text(text)
    elif not TABLE.exists() or TABLE.read_text() != text:
        sys.exit(f"{TABLE.relative_to(ROOT)} is not what the tests counted: run {pathlib.Path(__file__).relative_to(ROOT)}")


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
