"""A rollout's steps as partitions of TransferQueue.

Invariant: a group is acknowledged only after its put came back, and the put that completes a step, and no other,
says so; a consumer that saw the last one has seen the step.

```python
sink = TransferQueueSink(transfer_queue_client)
with verbatim.Rollout("rollout.toml") as rollout:
    while (step := await asyncio.to_thread(rollout.open)) is not None:
        await sink.put_step(rollout, step)        # into the partition train_{step}
```
"""
from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verbatim.adapters.transferqueue import Columns, transferqueue_columns
from verbatim.errors import DeadlineExceeded
from verbatim.rollout.batch import Lent
from verbatim.rollout.driver import LONGEST, Rollout
from verbatim.rows import Row

POLL = 1.0
"""Seconds that one request waits for a group: a step that closes short is noticed so soon."""


@dataclass(frozen=True)
class Put:
    """What a step put."""

    partition: str
    groups: int
    rows: int


class TransferQueueSink:
    """Puts steps through `client`, TransferQueue's own: an `AsyncTransferQueueClient`, or what has its methods.

    Await its methods from one loop, the one in which the client lives. Sessions and groups are numbered as they
    come, each with a number of its own as long as the sink lives.
    """

    def __init__(self, client: Any, partition: str = "train_{step}") -> None:
        self._client = client
        self._partition = partition
        # Relax's TransferQueue takes both with the put; the released one has no place for the word that a batch is
        # the last, so there it travels with the rows.
        self._told = {"custom_meta", "is_last"} <= set(inspect.signature(client.async_put).parameters)
        self._sessions: dict[str, int] = {}
        self._groups: dict[str, int] = {}

    async def put_step(self, rollout: Rollout, step: int, timeout: float = 3600.0) -> Put:
        """Puts the groups of an open step as they finish, until it has them all.

        One group is held back until another one comes or the step is over, so that the last put can say that it is
        the last, also of a step that closes short. If a put raises, its group and what was held are not acknowledged,
        and come again to whoever asks next; a group whose acknowledgement was lost comes again too.
        """
        until = time.monotonic() + timeout
        partition = self._partition.format(step=step)
        held: Lent | None = None
        put: list[int] = []
        while True:
            progress = await asyncio.to_thread(rollout.progress, step)
            if progress.state != "open" and progress.undelivered <= (held is not None):
                if held is not None:
                    put.append(await self._deliver(rollout, partition, held, is_last=True))
                return Put(partition, len(put), sum(put))
            lent = await asyncio.to_thread(rollout.lend, step, POLL, LONGEST)
            if lent is None:
                if time.monotonic() > until:
                    raise DeadlineExceeded(f"step {step} has not got its groups in {timeout:g} s")
            elif not lent.group.rows:
                # Nothing that could be put.
                await asyncio.to_thread(rollout.acknowledge, lent)
            else:
                if held is not None and held.number != lent.number:
                    put.append(await self._deliver(rollout, partition, held, is_last=False))
                held = lent

    async def _deliver(self, rollout: Rollout, partition: str, lent: Lent, is_last: bool) -> int:
        await self._put(partition, lent.group.rows, is_last)
        await asyncio.to_thread(rollout.acknowledge, lent)
        return len(lent.group.rows)

    async def _put(self, partition: str, rows: Sequence[Row], is_last: bool) -> None:
        columns = transferqueue_columns(
            rows,
            number(self._sessions, [row.session for row in rows]),
            number(self._groups, [row.group for row in rows]),
        )
        data = tensors(columns)
        if self._told:
            await self._client.async_put(
                data, partition_id=partition, custom_meta=columns.custom_meta, is_last=is_last
            )
            return
        fields = list(columns.fields)
        meta = await self._client.async_get_meta(
            data_fields=fields, batch_size=len(rows), partition_id=partition, mode="insert"
        )
        meta.update_custom_meta([{**one, "is_last": int(is_last)} for one in columns.custom_meta])
        # Before the put: rows that are ready have their metadata.
        await self._client.async_set_custom_meta(meta)
        await self._client.async_put(data, metadata=meta)


def number(known: dict[str, int], names: Sequence[str | None]) -> Mapping[str, int]:
    """The numbers so far, with one for each new name."""
    for name in names:
        if name is not None:
            known.setdefault(name, len(known))
    return known


def tensors(columns: Columns) -> Any:
    """Columns as a TensorDict: arrays as jagged nested tensors, numbers as a tensor, floats in 32 bits."""
    import torch  # type: ignore[import-not-found,unused-ignore]
    from tensordict import TensorDict  # type: ignore[import-not-found,unused-ignore]

    made: dict[str, Any] = {}
    for name, values in columns.fields.items():
        if isinstance(values[0], (int, float)):
            kind = torch.int64 if all(isinstance(value, int) for value in values) else torch.float32
            made[name] = torch.tensor(values, dtype=kind)
        else:
            made[name] = torch.nested.as_nested_tensor([torch.from_numpy(value) for value in values], layout=torch.jagged)
    return TensorDict(made, batch_size=len(columns.custom_meta))
