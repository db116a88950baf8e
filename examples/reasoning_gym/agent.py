#!/usr/bin/env python3
"""An agent for reasoning-gym questions: two tries, the second after being told that the first is wrong.

It knows an OpenAI-compatible server (the SDK reads OPENAI_BASE_URL and OPENAI_API_KEY by itself), its
task in $VERBATIM_INPUT_JSON, and where its result goes: $VERBATIM_OUTPUT_JSON.
"""
import json
import os
import pathlib
from typing import Any

import openai
import reasoning_gym

TRIES = 2


def prompt(metadata: dict[str, Any]) -> list[dict[str, str]]:
    """The solved questions as turns of a conversation, then the question."""
    messages = [{"role": "system", "content": "Give the answer and nothing else."}]
    for shown in metadata["solved"]:
        messages.append({"role": "user", "content": shown["question"]})
        messages.append({"role": "assistant", "content": shown["answer"]})
    messages.append({"role": "user", "content": metadata["entry"]["question"]})
    return messages


def solve(client: openai.OpenAI, metadata: dict[str, Any]) -> dict[str, Any]:
    """The result: reward 1 for a right first answer, half for a right second one; what is nearly
    right earns what reasoning-gym's own score gives it."""
    entry = metadata["entry"]
    score_answer = reasoning_gym.get_score_answer_fn(entry["metadata"]["source_dataset"])
    messages = prompt(metadata)
    answers: list[str] = []
    score = 0.0
    while len(answers) < TRIES:
        reply = client.chat.completions.create(model="policy", messages=messages, max_completion_tokens=32)
        answer = (reply.choices[0].message.content or "").strip()
        print(f"{entry['question']!r}: {answer!r}")
        answers.append(answer)
        score = float(score_answer(answer=answer, entry=entry)) / len(answers)
        if score * len(answers) == 1 or reply.choices[0].finish_reason == "length":
            # Right; or cut, and a server may refuse to go on after that.
            break
        messages.append({"role": "assistant", "content": reply.choices[0].message.content or ""})
        messages.append({"role": "user", "content": "That is wrong. Give the right answer."})
    return {"reward": score, "metadata": {"kind": metadata["kind"], "answers": answers}}


def main() -> None:
    task = json.loads(pathlib.Path(os.environ["VERBATIM_INPUT_JSON"]).read_text())
    result = solve(openai.OpenAI(), task["metadata"])
    pathlib.Path(os.environ["VERBATIM_OUTPUT_JSON"]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
