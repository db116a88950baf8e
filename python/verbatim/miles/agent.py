"""Running an agent function; its failure is no failure of the trajectory."""
from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from verbatim.errors import DriverError
from verbatim.host.faults import Fault
from verbatim.host.frames import plain
from verbatim.host.resolve import Kind, Plugin, load

log = logging.getLogger(__name__)

CANCEL_GRACE = 10.0
"""Seconds that an agent may take to end after it was cancelled."""


@dataclass(frozen=True)
class Outcome:
    """What an agent left."""

    result: dict[str, Any] | None
    """Its dict, as JSON; None if it returned none or failed."""
    error: str | None = None
    """How it failed."""


@functools.cache
def loaded(kind: Kind, path: str) -> Plugin:
    """A plug-in of the driver's, loaded once. Raises DriverError."""
    try:
        return load(kind, path)
    except Fault as fault:
        raise DriverError(f"{kind.value} {path}: {fault.message}\n{fault.trace}".rstrip()) from fault


async def run(path: str, seconds: float | None, **known: Any) -> Outcome:
    """Calls the agent function and waits for its end, or for its deadline. Its exceptions are logged."""
    plugin = loaded(Kind.AGENT, path)
    task = asyncio.create_task(called(plugin, known))
    try:
        in_time, _ = await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()
        # What it has open is closed before its samples are asked for.
        await asyncio.wait({task}, timeout=CANCEL_GRACE)
    if not in_time:
        log.error("agent %s used up its %s s; its samples are collected", path, seconds)
        return Outcome(None, f"it used up its {seconds:g} s")
    try:
        result = task.result()
    except (Exception, asyncio.CancelledError) as error:
        log.exception("agent %s raised; its samples are collected", path)
        return Outcome(None, f"{type(error).__name__}: {error}")
    if result is None:
        return Outcome(None)
    if not isinstance(result, dict):
        log.error("agent %s returned %s, not dict or None", path, type(result).__name__)
        return Outcome(None, f"it returned {type(result).__name__}, not dict or None")
    try:
        told: dict[str, Any] = json.loads(json.dumps(result, default=plain, allow_nan=False))
    except (TypeError, ValueError) as error:
        log.error("agent %s returned what JSON cannot hold: %s", path, error)
        return Outcome(None, f"what it returned is not JSON: {error}")
    return Outcome(told)


async def called(plugin: Plugin, known: dict[str, Any]) -> Any:
    """What the function gives; a plain function runs on a thread, so that it holds up nobody."""
    assert plugin.function is not None
    try:
        if plugin.is_async:
            return await plugin.function(**known)
        result = await asyncio.to_thread(plugin.function, **known)
        return await result if isinstance(result, Awaitable) else result
    except SystemExit as error:
        # It would end the driver.
        raise RuntimeError(f"the agent called exit({error.code})") from error


async def hook(plugin: Plugin, args: Any) -> bool:
    """Calls an `abort(args)`, async or not. False if there is none."""
    if plugin.function is None:
        return False
    result = plugin.function(args)
    if inspect.isawaitable(result):
        await result
    return True
