"""A rollout's steps as TransferQueue is told of them; the real one is in tools/extended/transferqueue.py."""
from __future__ import annotations

import asyncio
import pathlib
from typing import Any

import pytest

import trainers
import verbatim
from test_rollout import rollout_file
from verbatim.rollout import transferqueue
from verbatim.rollout.transferqueue import Put, TransferQueueSink


@pytest.fixture(autouse=True)
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The data stay columns: torch is 4.7 GB."""
    monkeypatch.setattr(transferqueue, "tensors", lambda columns: columns)


class Relaxs:
    """Takes what Relax's client takes, and looks at each put how far the step is."""

    def __init__(self, rollout: verbatim.Rollout, breaks_at: int = 0) -> None:
        self.rollout, self.breaks_at = rollout, breaks_at
        self.puts: list[tuple[str, list[int], list[int], bool]] = []
        self.undelivered: list[int] = []

    async def async_put(
        self, data: Any, metadata: Any = None, partition_id: str = "", custom_meta: Any = None, is_last: bool = False
    ) -> None:
        if len(self.puts) + 1 == self.breaks_at:
            raise ConnectionError("the queue is gone")
        assert metadata is None, "the last one is only honoured on an insert"
        fields = data.fields
        assert [one["sample_index"] for one in custom_meta] == fields["sample_indices"]
        assert [one["total_lengths"] for one in custom_meta] == fields["total_lengths"]
        self.puts.append((partition_id, fields["sample_indices"], fields["group_index"], is_last))
        step = int(partition_id.rpartition("_")[2])
        self.undelivered.append((await asyncio.to_thread(self.rollout.progress, step)).undelivered)


def put_all(rollout: verbatim.Rollout, sink: TransferQueueSink, steps: int) -> list[Put]:
    async def run() -> list[Put]:
        made = []
        for _ in range(steps):
            step = await asyncio.to_thread(rollout.open)
            assert step is not None
            made.append(await sink.put_step(rollout, step))
            assert (await asyncio.to_thread(rollout.progress, step)).state == "done"
        return made

    return asyncio.run(run())


def test_the_put_that_completes_a_step_says_so_also_if_it_closes_short(tmp_path: pathlib.Path) -> None:
    with verbatim.Rollout(rollout_file(tmp_path), settings={"dataset.epochs": 1}) as rollout:
        client = Relaxs(rollout)
        made = put_all(rollout, TransferQueueSink(client), 2)
        assert rollout.open() is None
    assert made == [Put("train_1", 2, 4), Put("train_2", 1, 2)], "three tasks, two a step, two sessions each"
    assert client.puts == [
        ("train_1", [0, 1], [0, 0], False),
        ("train_1", [2, 3], [1, 1], True),
        ("train_2", [4, 5], [2, 2], True),
    ]
    assert client.undelivered == [2, 1, 1], "the held one and the put one are not acknowledged during a put"


def test_a_group_whose_put_failed_comes_again(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transferqueue, "LONGEST", 1.0)
    with verbatim.Rollout(rollout_file(tmp_path)) as rollout:
        broken = Relaxs(rollout, breaks_at=2)
        with pytest.raises(ConnectionError, match="gone"):
            put_all(rollout, TransferQueueSink(broken), 1)
        assert [last for *_, last in broken.puts] == [False] and rollout.progress(1).undelivered == 1
        whole = Relaxs(rollout)
        assert asyncio.run(TransferQueueSink(whole).put_step(rollout, 1)) == Put("train_1", 1, 2)
        assert [last for *_, last in whole.puts] == [True] and rollout.progress(1).state == "done"


class Meta:
    """What an insert gets of the released package."""

    def __init__(self) -> None:
        self.custom: list[dict[str, int]] = []

    def update_custom_meta(self, custom: list[dict[str, int]]) -> None:
        self.custom = custom


class Released:
    """Takes what the released package's client takes."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    async def async_get_meta(self, data_fields: list[str], batch_size: int, partition_id: str, mode: str) -> Meta:
        self.asked.append((mode, partition_id, batch_size, len(data_fields)))
        return Meta()

    async def async_set_custom_meta(self, metadata: Meta) -> None:
        self.asked.append(("custom", [one["is_last"] for one in metadata.custom]))

    async def async_put(self, data: Any, metadata: Any = None, partition_id: Any = None, data_parser: Any = None) -> None:
        assert partition_id is None and isinstance(metadata, Meta)
        self.asked.append(("put", data.fields["sample_indices"]))


def test_the_released_package_is_told_with_the_rows_and_before_them(tmp_path: pathlib.Path) -> None:
    client = Released()
    with verbatim.Rollout(rollout_file(tmp_path)) as rollout:
        put_all(rollout, TransferQueueSink(client), 1)
    assert client.asked == [
        ("insert", "train_1", 2, 11), ("custom", [0, 0]), ("put", [0, 1]),
        ("insert", "train_1", 2, 11), ("custom", [1, 1]), ("put", [2, 3]),
    ]  # fmt: skip
    # The stand-in's names are the package's.
    for name in ("async_get_meta", "async_set_custom_meta", "async_put"):
        real = {argument.arg for argument in trainers.function("transfer_queue/client.py", name).args.args}
        code = getattr(Released, name).__code__
        assert set(code.co_varnames[: code.co_argcount]) <= real
    assert not {"custom_meta", "is_last"} & {
        argument.arg for argument in trainers.function("transfer_queue/client.py", "async_put").args.args
    }
