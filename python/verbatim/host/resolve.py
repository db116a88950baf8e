"""From a dotted path to a checked callable."""
from __future__ import annotations

import enum
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from verbatim.host.faults import Cause, Fault


class Kind(enum.Enum):
    """What a plug-in is for; the words of `verbatim_plugins::Kind`."""

    AGENT = "agent"
    ABORT = "abort"
    MATCHER = "matcher"
    PICKER = "picker"
    POSTPROCESSOR = "postprocessor"
    REWARD = "reward"
    GROUP_REWARD = "group_reward"
    ADVANTAGE = "advantage"
    FILTER = "filter"

    @property
    def sync_only(self) -> bool:
        """Whether an async function is refused: the server waits for the answer in the middle of its work."""
        return self in (Kind.MATCHER, Kind.PICKER, Kind.POSTPROCESSOR)


@dataclass(frozen=True)
class Plugin:
    """A loaded callable."""

    kind: Kind
    path: str
    function: Callable[..., Any] | None
    """None only for an `abort` that the agent's module does not have."""

    @property
    def is_async(self) -> bool:
        """Whether calling it gives a coroutine."""
        return is_async(self.function)


def is_async(function: object) -> bool:
    """Whether it is an async function, or an object that is called like one."""
    if inspect.iscoroutinefunction(function):
        return True
    return callable(function) and inspect.iscoroutinefunction(type(function).__call__)


def split(path: str) -> tuple[str, str]:
    """Module and name of `pkg.mod:fn` or `pkg.mod.fn`."""
    module, colon, name = path.partition(":")
    if not colon:
        module, _, name = path.rpartition(".")
    parts = [*module.split("."), *name.split(".")]
    if not all(part.isidentifier() for part in parts):
        raise Fault(Cause.BAD_PATH, f"{path!r} is not a dotted path; write `package.module:function`")
    return module, name


def load_module(name: str) -> ModuleType:
    """Imports a module."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            message = f"there is no module {error.name!r}; install it, or add its folder to the search paths"
            raise Fault(Cause.IMPORT, message) from error
        raise Fault.of(Cause.IMPORT, f"module {name!r} could not be imported", error) from error
    except (Exception, SystemExit) as error:
        raise Fault.of(Cause.IMPORT, f"module {name!r} could not be imported", error) from error


def load(kind: Kind, path: str) -> Plugin:
    """Imports, finds and checks a callable.

    Raises Fault: a bad path, a failing import, a missing name, not a callable, async where it may not be.
    """
    module_name, name = split(path)
    found: Any = load_module(module_name)
    if kind is Kind.ABORT:
        found = getattr(found, "abort", None)
        if found is None:
            return Plugin(kind, path, None)
        name = "abort"
    else:
        for part in name.split("."):
            try:
                found = getattr(found, part)
            except AttributeError:
                raise Fault(Cause.MISSING, f"module {module_name!r} has no {name!r}") from None
    if not callable(found):
        raise Fault(Cause.NOT_CALLABLE, f"{name!r} is not callable but {type(found).__name__}")
    if kind.sync_only and is_async(found):
        raise Fault(Cause.ASYNC_REFUSED, f"{name!r} is async; a {kind.value} must be a plain function")
    return Plugin(kind, path, found)
