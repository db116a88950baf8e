"""The host's loop: frames in, calls out, answers back."""
from __future__ import annotations

import asyncio
import inspect
import os
import platform
import threading
import traceback
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

from verbatim.host import PROTOCOL, calls
from verbatim.host.faults import Cause, Fault
from verbatim.host.frames import Message, Writer, pack, read
from verbatim.host.resolve import Kind, Plugin, load

THREADS = {Kind.AGENT: 1024}
"""How many sync calls of a kind run at a time; 32 of the others. Each kind has its own threads, so that agents,
which take long, keep nobody waiting."""


class Host:
    """Serves one owner. Async callables run on the main thread's loop, sync ones on threads."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._writer = Writer(writer)
        self._plugins: dict[tuple[Kind, str], Plugin] = {}
        self._pools: dict[Kind, ThreadPoolExecutor] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._cancelled: set[int] = set()

    async def run(self) -> None:
        """Serves until the owner is gone; the process ends then, whatever runs."""
        loop = asyncio.get_running_loop()
        hello = {"protocol": PROTOCOL, "python": platform.python_version(), "pid": os.getpid()}
        self._writer.write(pack({"hello": hello}))

        def listen() -> None:
            code = 1
            try:
                while (frame := read(self._reader)) is not None:
                    loop.call_soon_threadsafe(self._handle, loop, *frame)
                code = 0
            except ValueError:
                traceback.print_exc()
            finally:
                # Threads that run the user's code cannot be asked to end.
                os._exit(code)

        threading.Thread(target=listen, name="frames", daemon=True).start()
        await asyncio.Event().wait()

    def _handle(self, loop: asyncio.AbstractEventLoop, message: Message, blob: bytes) -> None:
        number = message["id"]
        try:
            if message["op"] == "cancel":
                self._cancel(number)
            elif message["op"] == "load":
                plugin = self._plugin(message)
                self._answer(number, {"is_async": plugin.is_async})
            elif message["op"] == "call":
                self._call(loop, number, self._plugin(message), message.get("value"), blob)
            else:
                raise Fault(Cause.PROTOCOL, f"there is no operation {message['op']!r}")
        except Fault as fault:
            self._fail(number, fault)

    def _plugin(self, message: Message) -> Plugin:
        try:
            key = Kind(message["kind"]), message["path"]
        except (KeyError, ValueError):
            raise Fault(Cause.PROTOCOL, f"there is no kind {message.get('kind')!r}") from None
        if key not in self._plugins:
            self._plugins[key] = load(*key)
        return self._plugins[key]

    def _cancel(self, number: int) -> None:
        task = self._tasks.get(number)
        if task is not None:
            self._cancelled.add(number)
            task.cancel()

    def _call(
        self, loop: asyncio.AbstractEventLoop, number: int, plugin: Plugin, value: Any, blob: bytes
    ) -> None:
        if plugin.is_async:
            task = loop.create_task(self._run_async(number, plugin, value, blob))
            self._tasks[number] = task
            task.add_done_callback(lambda ended: self._ended(number, ended))
            return
        pool = self._pools.get(plugin.kind)
        if pool is None:
            pool = ThreadPoolExecutor(THREADS.get(plugin.kind, 32), thread_name_prefix=plugin.kind.value)
            self._pools[plugin.kind] = pool
        pool.submit(self._run_sync, loop, number, plugin, value, blob)

    def _ended(self, number: int, task: asyncio.Task[None]) -> None:
        """Answers for a task that could not do so itself."""
        del self._tasks[number]
        self._cancelled.discard(number)
        if task.cancelled():
            self._fail(number, Fault(Cause.CANCELLED, "the call was cancelled before it began"))
        elif (error := task.exception()) is not None:
            self._fail(number, Fault.of(Cause.PROTOCOL, "the host failed on the call", error))

    async def _run_async(self, number: int, plugin: Plugin, value: Any, blob: bytes) -> None:
        try:
            awaitable, finish = calls.begin(plugin, value, blob)
            self._answer(number, *finish(await awaited(plugin, awaitable)))
        except Fault as fault:
            if number in self._cancelled:
                fault = Fault(Cause.CANCELLED, "the call was cancelled", fault.trace)
            self._fail(number, fault)

    def _run_sync(
        self, loop: asyncio.AbstractEventLoop, number: int, plugin: Plugin, value: Any, blob: bytes
    ) -> None:
        try:
            result, finish = calls.begin(plugin, value, blob)
            if inspect.isawaitable(result):
                result = asyncio.run_coroutine_threadsafe(awaited(plugin, result), loop).result()
            self._answer(number, *finish(result))
        except Fault as fault:
            self._fail(number, fault)
        except BaseException as error:
            self._fail(number, Fault.of(Cause.PROTOCOL, "the host failed on the call", error))

    def _answer(self, number: int, value: Any, blob: bytes = b"") -> None:
        try:
            pieces = pack({"id": number, "ok": value}, blob)
        except (TypeError, ValueError, RecursionError) as error:
            raise Fault(Cause.BAD_RESULT, f"the result cannot be told as JSON: {error}") from error
        self._writer.write(pieces)

    def _fail(self, number: int, fault: Fault) -> None:
        told = {"message": fault.message, "traceback": fault.trace}
        # What the user's code says may hold what UTF-8 cannot.
        told = {name: text.encode("utf-8", "replace").decode() for name, text in told.items()}
        self._writer.write(pack({"id": number, "error": {"cause": fault.cause.value, **told}}))


async def awaited(plugin: Plugin, awaitable: Awaitable[Any]) -> Any:
    """What an async callable gives; a Fault if it raises, also of what would end the loop."""
    try:
        return await awaitable
    except BaseException as error:
        raise calls.raised(plugin, error) from error
