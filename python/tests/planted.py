"""Mistakes made on purpose, which checks must notice."""
import json
import pathlib


def shifted(jsonl: pathlib.Path, out: pathlib.Path) -> None:
    """A copy in which every logprob stands one sampled token too late: the mistake that an
    off-by-one in a server or a trainer makes. The values themselves are all genuine."""
    lines = [json.loads(line) for line in jsonl.read_bytes().splitlines()]
    for line in lines:
        at = [i for i, value in enumerate(line["logprobs"]) if value is not None]
        values = [line["logprobs"][i] for i in at]
        for i, value in zip(at, [values[-1], *values[:-1]]):
            line["logprobs"][i] = value
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))
