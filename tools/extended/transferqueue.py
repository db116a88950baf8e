#!/usr/bin/env python3
"""Put a rollout's steps into the real TransferQueue over real Ray, and read them in another process.

Starts Ray, the queue, and a rollout on the simulated engine; a consumer, a Ray task with a client of its own, reads
rows while they come and stops at the one that says that it is the last. Fails unless it got every row of every step,
id for id and logprob for logprob, and saw the last one once a step, after all others.
"""
import asyncio
import json
import pathlib
import sys
import tempfile
import textwrap
import time

import ray
import transfer_queue

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import verbatim
from verbatim.adapters import transferqueue_columns
from verbatim.rollout.transferqueue import TransferQueueSink, tensors

# Seven tasks, three a step: the third step closes short.
TASKS, BATCH, GROUP = 7, 3, 2
COMPARED = ("tokens", "loss_masks", "rollout_log_probs", "rewards", "total_lengths", "response_lengths", "truncated")
FIELDS = [
    "tokens", "response_lengths", "rewards", "raw_reward", "group_index", "truncated", "sample_indices", "loss_masks",
    "sample_index_mask_sums", "total_lengths", "rollout_log_probs",
]  # fmt: skip
AGENT = """
import json, os, urllib.request
messages = []
for turn in range(2):
    messages.append({"role": "user", "content": f"turn {turn}"})
    asked = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", data=json.dumps({"messages": messages}).encode(),
        headers={"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    messages.append(json.load(urllib.request.urlopen(asked, timeout=120))["choices"][0]["message"])
with open(os.environ["VERBATIM_OUTPUT_JSON"], "w") as out:
    json.dump({"reward": float(os.getpid() % 2)}, out)
"""


def rollout_file(folder: pathlib.Path) -> pathlib.Path:
    (folder / "agent.py").write_text(AGENT)
    (folder / "tasks.jsonl").write_text("".join(json.dumps({"input": f"task {at}"}) + "\n" for at in range(TASKS)))
    file = folder / "rollout.toml"
    file.write_text(textwrap.dedent(f"""
        [engine]
        kind = "sim"
        sim_tokens = 40
        [dataset]
        path = "tasks.jsonl"
        epochs = 1
        [agent]
        command = "{sys.executable} {folder}/agent.py"
        [rollout]
        group_size = {GROUP}
        batch = {BATCH}
    """))
    return file


@ray.remote(num_cpus=1)
def consume(partition: str, seconds: float) -> dict:
    """Reads a partition's rows one by one until one says that it is the last of its step and no other is ready."""
    transfer_queue.init()
    client = transfer_queue.get_client()

    async def read() -> dict:
        rows, lasts, until = [], [], time.monotonic() + seconds
        while time.monotonic() < until:
            meta = await client.async_get_meta(
                data_fields=FIELDS, batch_size=1, partition_id=partition, mode="fetch", task_name="train"
            )
            if meta.size == 0:
                if lasts:
                    break
                await asyncio.sleep(0.02)
                continue
            data = await client.async_get_data(meta)
            [told] = meta.custom_meta
            row = {name: data[name][0] for name in FIELDS}
            rows.append({name: value.flatten().tolist() for name, value in row.items()})
            assert told["total_lengths"] == len(rows[-1]["tokens"]), told
            assert [told["sample_index"]] == rows[-1]["sample_indices"], told
            if told.get("is_last"):
                lasts.append(len(rows))
        _, consumed = await client.async_get_consumption_status("train", partition)
        return {"rows": rows, "lasts": lasts, "consumed": consumed.tolist()}

    return asyncio.run(read())


class Watched(verbatim.Rollout):
    """Keeps the rows that it lends, to compare them."""

    def __init__(self, file: pathlib.Path) -> None:
        super().__init__(file)
        self.lent = {}

    def lend(self, step, wait=20.0, seconds=300.0):
        lent = super().lend(step, wait, seconds)
        if lent is not None:
            self.lent.setdefault(step, {})[lent.number] = lent.group.rows
        return lent


def flat(column) -> list[list]:
    return [value.flatten().tolist() for value in (column.unbind() if column.is_nested else column)]


async def produce(rollout: Watched, sink: TransferQueueSink) -> list:
    made = []
    while (step := await asyncio.to_thread(rollout.open)) is not None:
        made.append(await sink.put_step(rollout, step))
    return made


def main() -> None:
    # The queue's controller and storage take a logical CPU each, the consumers one each.
    ray.init(num_cpus=8, include_dashboard=False, log_to_driver=False)
    transfer_queue.init({"controller": {"polling_mode": True}})
    steps = -(-TASKS // BATCH)
    consumers = [consume.remote(f"train_{step}", 240.0) for step in range(1, steps + 1)]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Watched(rollout_file(pathlib.Path(folder))) as rollout:
        made = asyncio.run(produce(rollout, TransferQueueSink(transfer_queue.get_client())))
    took = time.monotonic() - began
    read = ray.get(consumers)
    total = 0
    for step, (put, got) in enumerate(zip(made, read, strict=True), 1):
        groups = [rows for _, rows in sorted(rollout.lent[step].items())]
        flow = [row for rows in groups for row in rows]
        expected = tensors(transferqueue_columns(flow))
        assert len(got["rows"]) == put.rows == len(flow) == GROUP * put.groups, (put, len(got["rows"]))
        for name in COMPARED:
            assert [row[name] for row in got["rows"]] == flat(expected[name]), (step, name)
        # The last put's rows say so, one group's worth, and nothing comes after them.
        assert got["lasts"] == list(range(put.rows - GROUP + 1, put.rows + 1)), got["lasts"]
        assert len({tuple(row["sample_indices"]) for row in got["rows"]}) == put.rows
        total += put.rows
        print(f"{put.partition}: {put.groups} groups, {put.rows} rows read back, is_last at rows {got['lasts']}")
    assert [put.groups for put in made] == [3, 3, 1]
    print(f"TransferQueue {transfer_queue.__version__}, Ray {ray.__version__}: {total} rows in {len(made)} steps, {took:.1f} s")
    transfer_queue.close()
    ray.shutdown()


if __name__ == "__main__":
    main()
