"""Rewards and credit as a trainer gets them: a real SDK in an agent function, functions of Python that score."""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import textwrap

import verbatim
from server import BINARY, ROOT
from verbatim.rows import read

CODE = '''
import openai


async def run_agent(base_url, prompt, request_kwargs, metadata, session_id=None, **kwargs):
    """A main line of two turns and a helper's one, exported by name."""
    async with openai.AsyncOpenAI(base_url=f"{base_url}/v1", api_key="not needed", max_retries=0) as client:
        async def chat(messages):
            reply = await client.chat.completions.create(model="policy", messages=messages, **request_kwargs)
            return [*messages, reply.choices[0].message.model_dump(exclude_none=True)]

        main = await chat(prompt)
        helper = await chat([{"role": "user", "content": "help"}])
        main = await chat([*main, {"role": "user", "content": "and then?"}])
    records = [{"name": "main", "messages": main}, {"name": "helper", "messages": helper, "reward": 0.0}]
    return {"records": records, "session": session_id}


async def score(session):
    """By place, so that rewards differ in every group; the helper has its own."""
    assert [context["name"] for context in session["contexts"]] == ["main", "helper"]
    assert session["turns"] == 2 and session["messages"][0] == {"role": "user", "content": "task 0"}, session
    return {"reward": session["sample_index"] % 2, "label": float(session["task"]["label"])}


def advantages(group):
    rewards = [session["main"]["reward"] for session in group]
    mean = sum(rewards) / len(rewards)
    return [
        {"main": [reward - mean] * session["main"]["turns"], "helper": session["helper"]["reward"]}
        for session, reward in zip(group, rewards)
    ]
'''


def rollout_file(folder: pathlib.Path) -> pathlib.Path:
    (folder / "mine.py").write_text(CODE)
    (folder / "tasks.jsonl").write_text(json.dumps({"input": "task 0", "answer": 7}) + "\n")
    file = folder / "rollout.toml"
    file.write_text(textwrap.dedent(f"""
        [engine]
        kind = "sim"
        sim_tokens = 6
        [dataset]
        path = "tasks.jsonl"
        label_key = "answer"
        [agent]
        function = "mine:run_agent"
        [plugins]
        python = "{sys.executable}"
        search_paths = [".", "{ROOT / "python"}"]
        [reward]
        contexts = "several"
        session = "mine:score"
        advantage = "mine:advantages"
        [rollout]
        group_size = 2
        batch = 2
        format = "parquet"
        output = "rows"
        [log]
        events = "events.jsonl"
    """))
    return file


def test_a_run_leaves_rows_with_names_rewards_and_advantages(tmp_path: pathlib.Path) -> None:
    ran = subprocess.run([BINARY, "run", str(rollout_file(tmp_path))], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    assert "reward.label" in ran.stdout and "1 of 2 (50.0 %)" in ran.stdout
    rows = read(tmp_path / "rows" / "train-0.parquet")
    told = [(row.name, row.sample_index, row.reward, row.advantages) for row in rows]
    assert told == [
        ("main", 0, 0.0, [-0.5, -0.5]),
        ("helper", 0, 0.0, 0.0),
        ("main", 1, 1.0, [0.5, 0.5]),
        ("helper", 1, 0.0, 0.0),
    ]
    for row in rows:
        assert row.token_advantages is not None and len(row.token_advantages) == len(row.tokens)
        trained = [value for value, mask in zip(row.token_advantages, row.loss_mask) if mask]
        assert trained and set(trained) == set(row.advantages if isinstance(row.advantages, list) else [0.0])


def test_a_trainer_is_given_them_and_every_session_has_a_number_of_its_own(tmp_path: pathlib.Path) -> None:
    with verbatim.Rollout(rollout_file(tmp_path)) as rollout:
        batch = rollout.step()
        assert batch is not None and len(batch.groups) == 2, "the one task comes again in its second epoch"
        numbers = [[row.sample_index for row in group.rows] for group in batch.groups]
        assert sorted(numbers) == [[0, 0, 1, 1], [2, 2, 3, 3]]
        assert {row.group_index for row in batch.rows} == {0, 1}
        assert all(row.advantages is not None for row in batch.rows)
    log = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    kinds = [event["event"] for event in log if event.get("group") == "train:0"]
    order = ["group_started", "group_leased", "group_finalised", "group_scored", "group_finished"]
    assert [kind for kind in kinds if kind in order] == order
    assert kinds.count("session_scored") == 2
