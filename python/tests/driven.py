"""Agent functions that the driver of the tests runs, and the hook beside them."""
from __future__ import annotations

import asyncio
from typing import Any

import openai

SEEN: list[dict[str, Any]] = []
HOOKED: list[Any] = []


async def two_turns(base_url: str, prompt: Any, request_kwargs: dict, metadata: dict, **kwargs: Any) -> dict | None:
    """Two turns of one line; for a task with `branch` also another line from the first."""
    SEEN.append({"base_url": base_url, "prompt": prompt, "request_kwargs": request_kwargs, "metadata": metadata})
    async with openai.AsyncOpenAI(base_url=f"{base_url}/v1", api_key="none", max_retries=0) as client:

        async def ask(messages: list[Any]) -> list[Any]:
            reply = await client.chat.completions.create(model="policy", messages=messages, **request_kwargs)
            return [*messages, reply.choices[0].message.model_dump(exclude_none=True)]

        first = await ask(list(prompt))
        second = await ask([*first, {"role": "user", "content": "go on"}])
        if metadata.get("branch"):
            # Deeper than a retry, which would be replaced by what comes after it.
            await ask([*second, {"role": "user", "content": "and on"}])
            await ask([*first, {"role": "user", "content": "another way"}])
    return {
        "reward": 0.25,
        "agent_metrics": {"total_tool_time": 1.5},
        "leaf": "planted",
        "tito_session_mismatch": "planted",
    }


async def raises_after_a_turn(base_url: str, prompt: Any, request_kwargs: dict, metadata: dict) -> None:
    await two_turns(base_url, prompt, request_kwargs, metadata)
    raise LookupError("after two turns")


async def does_nothing(base_url: str, prompt: Any, request_kwargs: dict, metadata: dict) -> None:
    SEEN.append({"base_url": base_url})


async def never_ends(base_url: str, prompt: Any, request_kwargs: dict, metadata: dict) -> None:
    await two_turns(base_url, prompt, request_kwargs, metadata)
    await asyncio.sleep(60)


def plain_function(base_url: str, prompt: Any, request_kwargs: dict, metadata: dict) -> dict:
    return {"reward": 1.0, "leaf": "planted"}


async def quits(base_url: str, prompt: Any, request_kwargs: dict, metadata: dict) -> None:
    raise SystemExit(3)


async def times_out(base_url: str, prompt: Any, request_kwargs: dict, metadata: dict) -> None:
    raise TimeoutError("its own")


async def a_number(base_url: str, prompt: Any, request_kwargs: dict, metadata: dict) -> Any:
    return 3


async def no_json(base_url: str, prompt: Any, request_kwargs: dict, metadata: dict) -> Any:
    return {"reward": float("nan")}


async def abort(args: Any) -> None:
    HOOKED.append(args)
    if getattr(args, "fails", False):
        raise OSError("the hook failed")
