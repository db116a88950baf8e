#!/usr/bin/env python3
"""An agent of several: a main line that asks, and searchers that each read one page.

It needs Python's standard library alone. It knows an OpenAI-compatible server (OPENAI_BASE_URL, OPENAI_API_KEY), its
task in $VERBATIM_INPUT_JSON, and where its result goes: $VERBATIM_OUTPUT_JSON, one line for each context that is to
be a row. A context is named by its messages: just as they were sent, and the reply as it came.
"""
import json
import os
import pathlib
import re
import urllib.request
from concurrent.futures import ThreadPoolExecutor

Message = dict[str, object]


def chat(messages: list[Message], tokens: int) -> tuple[list[Message], str]:
    """The conversation with its reply, and the reply's text."""
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "policy", "messages": messages, "max_tokens": tokens}).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as reply:
        message = json.load(reply)["choices"][0]["message"]
    return [*messages, message], message.get("content") or ""


def search(name: str, page: str) -> tuple[list[Message], str]:
    """One searcher: its context, and what it found."""
    messages: list[Message] = [
        {"role": "system", "content": "Read the page and answer with a number."},
        {"role": "user", "content": f"Page: {page}\nHow old is {name}?"},
    ]
    return chat(messages, 8)


def answer(question: str, notes: list[str]) -> tuple[list[Message], str]:
    """The main line: the question, and what the searchers found."""
    messages: list[Message] = [
        {"role": "system", "content": "Answer with one name."},
        {"role": "user", "content": f"{question}\n" + "\n".join(notes)},
    ]
    return chat(messages, 8)


def main() -> None:
    task = json.loads(pathlib.Path(os.environ["VERBATIM_INPUT_JSON"]).read_text())["metadata"]
    pages: dict[str, str] = task["pages"]
    with ThreadPoolExecutor() as pool:
        searches = dict(zip(pages, pool.map(search, pages, pages.values())))
    notes = [f"{name}: {found.strip()}" for name, (_, found) in searches.items()]
    messages, said = answer(task["question"], notes)
    named = re.findall("|".join(pages), said)
    reward = float(bool(named) and named[0] == task["answer"])

    records = [{"name": "main", "messages": messages, "reward": reward, "metadata": {"said": said}}]
    # Evaluation counts answers; only training has credit to share.
    if os.environ["VERBATIM_ROLLOUT_MODE"] == "train":
        records += [
            {"name": f"searcher_{at}", "messages": context, "metadata": {"found": found}}
            for at, (context, found) in enumerate(searches.values())
        ]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    pathlib.Path(os.environ["VERBATIM_OUTPUT_JSON"]).write_text(lines)


if __name__ == "__main__":
    main()
