"""Rewards, advantages and filters, and an agent function."""
import json
import pathlib
import urllib.request

HERE = pathlib.Path(__file__).parent


def chat(base_url, key, messages):
    request = urllib.request.Request(
        f"{base_url}/chat/completions",
        json.dumps({"messages": messages, "max_tokens": 8}).encode(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)["choices"][0]["message"]


async def run_agent(base_url, prompt, request_kwargs, metadata, api_key=None, **kwargs):
    import asyncio

    message = await asyncio.to_thread(chat, f"{base_url}/v1", api_key, prompt)
    return {"reward": 0.5, "said": message["role"], "temperature": request_kwargs["temperature"]}


def by_label(session):
    assert session["mode"] == "train" and session["messages"][-1]["role"] == "assistant"
    assert session["messages"][-1]["content"] == session["response"], session
    place = session["sample_index"] - 2 * session["group_index"]
    return {"reward": float(session["task"]["label"]) + place, "length": session["tokens"], "word": "no number"}


async def ranks(group):
    order = sorted(range(len(group)), key=lambda at: group[at]["reward"])
    return [float(order.index(at)) for at in range(len(group))]


def keeps_even(rows):
    return None if rows[0]["metadata"]["number"] % 2 == 0 else "odd task"


def shares(group):
    """Half of the main line's advantage for the searchers together; nothing for task 1."""
    if group[0]["main"]["number"] == 1:
        return None
    rewards = [session["main"]["reward"] for session in group]
    mean = sum(rewards) / len(rewards)
    shared = []
    for session, reward in zip(group, rewards):
        others = [name for name in session if name != "main"]
        advantages = {name: 0.5 * (reward - mean) / len(others) for name in others}
        advantages["main"] = [reward - mean] * session["main"]["turns"]
        shared.append(advantages)
    return shared


def forgets_one(group):
    return [{"main": 0.0} for _ in group]


def fails_for_one(session):
    if session["task"]["metadata"]["number"] == 1:
        count = HERE / "asked"
        with count.open("a") as file:
            file.write("x")
        raise ConnectionError("the judge is down")
    return 1.0


def says_words(session):
    return "very good"


async def hangs(base_url, prompt, request_kwargs, metadata, **kwargs):
    import asyncio

    await run_agent(base_url, prompt, request_kwargs, metadata, **kwargs)
    if metadata["number"] == 1:
        await asyncio.sleep(600)
    return {"reward": 1.0}
