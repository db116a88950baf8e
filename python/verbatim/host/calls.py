"""How each kind is called, and what it may return."""
from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from verbatim.host.faults import Cause, Fault
from verbatim.host.resolve import Kind, Plugin

Value = Any
"""A JSON value."""
Result = tuple[Value, bytes]
"""What goes back: a value and a blob."""


def bad(message: str) -> Fault:
    """A result that the kind does not allow."""
    return Fault(Cause.BAD_RESULT, message)


def raised(plugin: Plugin, error: BaseException) -> Fault:
    """What the user's code raised."""
    return Fault.of(Cause.RAISED, f"the {plugin.kind.value} raised", error)


def invoke(plugin: Plugin, *args: Any, **kwargs: Any) -> Any:
    """Calls the user's function; a coroutine comes back as it is."""
    assert plugin.function is not None
    try:
        result = plugin.function(*args, **kwargs)
    except BaseException as error:
        raise raised(plugin, error) from error
    if plugin.kind.sync_only and inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise bad(f"the {plugin.kind.value} returned an awaitable")
    return result


def begin(plugin: Plugin, value: Value, blob: bytes) -> tuple[Any | Awaitable[Any], Callable[[Any], Result]]:
    """Calls a plug-in. Gives what it returned, to be awaited if it is awaitable, and what makes that a result."""
    if plugin.kind is Kind.MATCHER:
        return judge(plugin, value), done
    if plugin.kind in (Kind.PICKER, Kind.POSTPROCESSOR):
        from verbatim.host import hooks

        call = hooks.pick if plugin.kind is Kind.PICKER else hooks.postprocess
        return call(plugin, value, blob), done
    if plugin.kind is Kind.AGENT:
        return run_agent(plugin, value), agent_result
    if plugin.kind is Kind.ABORT:
        if plugin.function is None:
            return None, lambda _: ({"called": False}, b"")
        return invoke(plugin, SimpleNamespace(**value)), lambda _: ({"called": True}, b"")
    return invoke(plugin, *value.get("args", ()), **value.get("kwargs", {})), lambda result: (result, b"")


def done(result: Result) -> Result:
    """It is one already."""
    return result


def judge(plugin: Plugin, value: Value) -> Result:
    """One verdict a pair; exact bools only, since anything else is a mistake that would match by its truth."""
    verdicts = []
    for stored, replayed in value["pairs"]:
        verdict = invoke(plugin, stored, replayed)
        if type(verdict) is not bool:
            raise bad(f"the matcher must return bool, it returned {type(verdict).__name__}")
        verdicts.append(verdict)
    return {"verdicts": verdicts}, b""


def run_agent(plugin: Plugin, value: Value) -> Any:
    """Calls an agent function with its four arguments, and what else it has parameters for."""
    assert plugin.function is not None
    known = {name: value[name] for name in ("base_url", "prompt", "request_kwargs", "metadata")}
    return invoke(plugin, **known, **accepted(plugin.function, value.get("kwargs", {})))


def accepted(function: Callable[..., Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a function takes by these names."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return kwargs
    by_name = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return {name: given for name, given in kwargs.items() if name in by_name}


def agent_result(result: Any) -> Result:
    """An object or null."""
    if result is not None and not isinstance(result, dict):
        raise bad(f"the agent must return dict or None, it returned {type(result).__name__}")
    return result, b""
