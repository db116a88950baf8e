"""What happens to the trajectories that over-sampling did not need.

Invariant: the agents' hook runs once for each surplus abort, and only after every engine's abort has
returned, or failed; nothing that fails here stops the step.
"""
from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Awaitable, Iterable
from typing import Any

from verbatim.host.resolve import Kind
from verbatim.miles.agent import hook, loaded

log = logging.getLogger(__name__)


async def abort_surplus(args: Any, engines: Iterable[Awaitable[Any]]) -> None:
    """Waits for the engines' aborts, then calls the agents' hook."""
    for outcome in await asyncio.gather(*engines, return_exceptions=True):
        if isinstance(outcome, BaseException):
            log.warning("an engine's abort failed: %s: %s", type(outcome).__name__, outcome)
    await abort(args)


async def abort(args: Any) -> bool:
    """Calls `abort(args)` in the module of the agent function, if it has one; its exceptions are logged.

    False if there was none. This is what Miles calls once the engines' aborts have returned. The hook finds
    `session_server_instance_id` in its arguments where all trajectories go to one instance.
    """
    path = getattr(args, "custom_agent_function_path", None)
    if not path:
        return False
    try:
        return await hook(loaded(Kind.ABORT, path), with_instance(args))
    except Exception:
        log.warning("the abort hook beside agent %s failed", path, exc_info=True)
        return False


def with_instance(args: Any) -> Any:
    """The arguments, with the id of the instance if there is only one and it is not there yet."""
    instances = set((getattr(args, "session_server_instance_ids", None) or {}).values())
    if len(instances) != 1 or getattr(args, "session_server_instance_id", None) is not None:
        return args
    told = copy.copy(args)
    told.session_server_instance_id = instances.pop()
    return told
