#!/usr/bin/env python3
"""Compare every recorded turn's prompt ids with the ids that the official template gives.

usage: template_ids.py MODEL.gguf FOLDER      FOLDER as python/tests/record.py writes it

The template and the vocabulary are those inside the GGUF file, rendered by transformers (jinja2) and
encoded by tokenizers, on the messages that the agent sent. With tools, which SmolLM2's template does
not know, the template is the one that its family documents (tools/goldens/families.py).

Two comparisons a turn. Outright: the whole prompt, as if everything in it were encoded anew. Around:
what earlier turns sampled stands in the messages as a mark, the template renders the rest, and the
sampled ids take the mark's place; this one must be equal, always. They differ where a model spells
text in other ids than the tokenizer, or a stop string ended a reply: that is why sampled ids are kept.

Prints one JSON object; the exit code is 1 if a prompt differs around the sampled ids, or if prompts
that are shifted by one token pass unnoticed.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "goldens"))

import families
import gguf
import official

MARK = "\ue000"
STOP = "<|im_end|>"


class Template:
    """The official template with its vocabulary."""

    def __init__(self, path: pathlib.Path) -> None:
        config, self.own = gguf.smollm2(path)
        self.vocabulary = official.Vocabulary(config)
        self.stop = self.vocabulary.ids[STOP]
        qwen = families.Assets(path.parent.parent, None).template("tokenizer-qwen25")
        self.tools = qwen.replace(families.QWEN25_SYSTEM, families.SMOLLM2_SYSTEM)

    def outright(self, request: dict) -> list[int]:
        """The prompt's ids, all of them encoded."""
        return self.vocabulary.encode(self._render(request, request["messages"]))

    def around(self, request: dict, sampled: dict[int, list[int]]) -> list[int]:
        """The prompt's ids, with ids in place of the messages at those positions. A stop token that
        ends them is the template's own, too, and stands once."""
        marked = [
            {"role": "assistant", "content": MARK} if at in sampled else message
            for at, message in enumerate(request["messages"])
        ]
        first, *rest = self._render(request, marked).split(MARK)
        assert len(rest) == len(sampled)
        ids = self.vocabulary.encode(first)
        for at, text in zip(sorted(sampled), rest):
            span = sampled[at]
            ids += span[:-1] if span[-1] == self.stop else span
            ids += self.vocabulary.encode(text)
        return ids

    def _render(self, request: dict, messages: list[dict]) -> str:
        tools = request.get("tools")
        rendered, _ = official.render_jinja_template(
            [official.prepared(messages, self.vocabulary)],
            tools=self.vocabulary.hide(tools) or None,
            chat_template=self.tools if tools else self.own,
            add_generation_prompt=True,
        )
        return rendered[0]


def turns(folder: pathlib.Path, agent: str) -> list[tuple[dict, list[int], dict[int, list[int]]]]:
    """Each turn of the agent's longest row: its request, its prompt's ids, and what the turns
    before it sampled, by the position of their messages in the request."""
    lines = [json.loads(line) for line in (folder / f"{agent}.jsonl").read_text().splitlines()]
    row = max(lines, key=lambda line: len(line["turns"]))
    kept = json.loads((folder / f"{agent}.session.json").read_text())["turns"]
    requests = {turn["response"]: turn["request"] for turn in kept}
    found = []
    sampled: dict[int, list[int]] = {}
    for turn in row["turns"]:
        request = requests[turn["response"]]
        found.append((request, row["tokens"][: turn["start"]], dict(sampled)))
        sampled[len(request["messages"])] = row["tokens"][turn["start"] : turn["end"]]
    return found


def main() -> int:
    model, folder = map(pathlib.Path, sys.argv[1:])
    template = Template(model)
    report = {"turns": 0, "around": 0, "outright": 0, "planted": 0}
    for path in sorted(folder.glob("*.session.json")):
        for request, prompt, sampled in turns(folder, path.name.removesuffix(".session.json")):
            official_ids = template.around(request, sampled)
            report["turns"] += 1
            report["around"] += official_ids == prompt
            report["outright"] += template.outright(request) == prompt
            report["planted"] += official_ids != [*prompt[1:], prompt[0]]
    report["holds"] = report["around"] == report["planted"] == report["turns"] > 0
    print(json.dumps(report))
    return 0 if report["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
