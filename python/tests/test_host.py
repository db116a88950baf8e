"""The plug-in host, spoken to over standard input and output."""
from __future__ import annotations

import copy
import io
import os
import pathlib
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from server import Server, verify_rows
from verbatim.codec import MalformedPayload, Payload, Sample, decode, encode
from verbatim.host import PROTOCOL
from verbatim.host.faults import Cause, Fault
from verbatim.host.frames import Writer, pack, read
from verbatim.host.owned import Owned
from verbatim.host.resolve import Kind, load

ROOT = pathlib.Path(__file__).resolve().parent.parent

PLUGINS = '''
import asyncio, os, sys
print("printed while it is imported")

def same(stored, replayed):
    print("judging"); os.write(1, b"raw"); os.system("echo from a child")
    assert sys.stdin.read() == ""
    stored["content"] = "changed"
    return replayed["content"] == "a"

async def waits(*_):
    await asyncio.sleep(60)

async def adds(*numbers):
    return sum(numbers)

def wrapped(*numbers):
    return adds(*numbers)

class Callable:
    async def __call__(self): return "object"
    @staticmethod
    def inner(): return "inner"

instance = Callable()

def masks(samples, session_metadata):
    session_metadata["planted"] = 1
    samples[0].loss_mask[0] = 0
    return samples

def nothing(samples, session_metadata):
    return []

def surrogate():
    return "\\ud800"

def raises_surrogate():
    raise ValueError("\\ud800")

def fresh(samples, session_metadata):
    return [type(samples[0])(tokens=[1], metadata={"leaf": "mine", "other": 1})]

def foreign(samples, session_metadata):
    return ["a sample"]

def unfit(samples, session_metadata):
    samples[0].loss_mask[0] = -1
    return samples

def lengthens(samples, session_metadata):
    samples[0].loss_mask.append(0)
    return samples
'''


class Host:
    """A host process and the frames to it."""

    def __init__(self, folder: pathlib.Path) -> None:
        (folder / "plugins_of_test.py").write_text(PLUGINS)
        paths = os.pathsep.join([str(ROOT), str(folder)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "verbatim.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
        )
        self.hello = self.hear()[0]["hello"]

    def tell(self, number: int, op: str, blob: bytes = b"", **rest: Any) -> None:
        assert self._process.stdin is not None
        for piece in pack({"id": number, "op": op, **rest}, blob):
            self._process.stdin.write(piece)
        self._process.stdin.flush()

    def hear(self) -> tuple[dict[str, Any], bytes]:
        assert self._process.stdout is not None
        frame = read(self._process.stdout)
        assert frame is not None, self._process.stderr and self._process.stderr.read()
        return frame

    def ask(self, kind: str, name: str, value: Any = None, blob: bytes = b"") -> tuple[dict[str, Any], bytes]:
        self.tell(7, "call", blob, kind=kind, path=f"plugins_of_test:{name}", value=value)
        answer, back = self.hear()
        assert answer["id"] == 7
        return answer, back

    def end(self) -> tuple[int, bytes]:
        assert self._process.stdin is not None and self._process.stderr is not None
        self._process.stdin.close()
        return self._process.wait(10), self._process.stderr.read()


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Iterator[Host]:
    host = Host(tmp_path)
    yield host
    host._process.kill()
    host._process.wait()


def test_prints_go_to_standard_error_and_never_between_frames(host: Host) -> None:
    assert host.hello["protocol"] == PROTOCOL
    pairs = [[{"content": "b"}, {"content": "a"}], [{"content": "b"}, {"content": "b"}]]
    assert host.ask("matcher", "same", {"pairs": pairs}) == ({"id": 7, "ok": {"verdicts": [True, False]}}, b"")
    code, printed = host.end()
    assert code == 0
    for words in (b"printed while it is imported", b"judging", b"raw", b"from a child"):
        assert words in printed


def test_calls_are_answered_in_the_order_of_their_ends(host: Host) -> None:
    host.tell(1, "call", kind="reward", path="plugins_of_test:waits", value={})
    host.tell(2, "call", kind="reward", path="plugins_of_test:adds", value={"args": [1, 2]})
    assert host.hear() == ({"id": 2, "ok": 3}, b"")
    host.tell(1, "cancel")
    answer, _ = host.hear()
    assert answer["id"] == 1 and answer["error"]["cause"] == "cancelled"
    host.tell(1, "cancel")
    host.tell(3, "call", kind="reward", path="plugins_of_test:waits", value={})
    host.tell(3, "cancel")
    answer, _ = host.hear()
    assert answer["id"] == 3 and answer["error"]["cause"] == "cancelled", "cancelled before it began, or after"


def test_frames_of_several_threads_do_not_mix() -> None:
    class Slow(io.BytesIO):
        def write(self, content: Any) -> int:
            time.sleep(0.0005)
            return super().write(content)

    pipe = Slow()
    writer = Writer(pipe)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: writer.write(pack({"id": at}, bytes([at]) * at)), range(64)))
    pipe.seek(0)
    frames = [frame for _ in range(64) if (frame := read(pipe)) is not None]
    assert sorted(message["id"] for message, _ in frames) == list(range(64))
    assert all(blob == bytes([message["id"]]) * message["id"] for message, blob in frames)


@pytest.mark.parametrize(("name", "expected"), [("wrapped", 3), ("instance", "object"), ("Callable.inner", "inner")])
def test_whatever_is_callable_is_called(host: Host, name: str, expected: Any) -> None:
    args = [1, 2] if name == "wrapped" else []
    assert host.ask("filter", name, {"args": args})[0]["ok"] == expected


def test_what_makes_no_sense_is_answered_too(host: Host) -> None:
    host.tell(1, "dance", kind="reward", path="plugins_of_test:adds")
    host.tell(2, "load", kind="song", path="plugins_of_test:adds")
    assert [host.hear()[0]["error"]["cause"] for _ in range(2)] == ["protocol", "protocol"]
    assert host.ask("reward", "adds", {"args": ["a", 1]})[0]["error"]["cause"] == "raised"


def test_what_utf8_cannot_hold_is_refused_and_told(host: Host) -> None:
    assert host.ask("reward", "surrogate", {})[0]["error"]["cause"] == "bad_result"
    error = host.ask("reward", "raises_surrogate", {})[0]["error"]
    assert error["cause"] == "raised" and "ValueError: ?" in error["message"]


def test_a_frame_that_is_no_json_ends_the_host(host: Host) -> None:
    assert host._process.stdin is not None
    host._process.stdin.write(b"\x01\0\0\0\0\0\0\0{")
    code, printed = host.end()
    assert code == 1 and b"JSONDecodeError" in printed


def stored() -> Payload:
    row = {"mask": [["observation", 1], [None, 2], ["observation", 1]], "turns": []}
    one = Sample(
        tokens=[1, 2, 3, 4],
        response_length=3,
        loss_mask=[1, 1, 0],
        rollout_log_probs=[-0.5, -0.5, 0.0],
        metadata={"leaf": {"node_id": 3}, "verbatim": row, "theirs": 1},
    )
    return Payload([one], {"name": "s"})


def test_what_a_post_processor_masks_is_masked_by_policy(host: Host) -> None:
    answer, blob = host.ask("postprocessor", "masks", {"session_metadata": {}}, encode(stored()))
    assert answer["ok"] == {"samples": 1}
    payload = decode(blob)
    assert payload.session_metadata == {"name": "s"}
    [one] = payload.samples
    assert one.loss_mask == [0, 1, 0]
    mask = one.metadata["verbatim"]["mask"]
    assert mask == [["observation", 1], ["policy", 1], [None, 1], ["observation", 1]]


def test_the_server_reads_what_a_post_processor_made(host: Host, embedded: Server, tmp_path: pathlib.Path) -> None:
    session = embedded.open()
    with session.client() as client:
        question: Any = [{"role": "user", "content": "Write one sentence about the sea."}]
        client.chat.completions.create(model="policy", messages=question, max_completion_tokens=12)
    before = session.rows_file("safetensors", reward=1.0)
    answer, after = host.ask("postprocessor", "masks", {"session_metadata": {}}, before)
    assert answer["ok"] == {"samples": 1} and after != before
    file = tmp_path / "after.safetensors"
    file.write_bytes(after)
    code, report = verify_rows(file)
    assert code == 0, report
    [was], [now] = decode(before).samples, decode(after).samples
    assert now.loss_mask == [0, *(was.loss_mask or [])[1:]]
    assert was.metadata["verbatim"]["turns"] == now.metadata["verbatim"]["turns"]


def test_no_samples_left_is_said(host: Host) -> None:
    _, blob = host.ask("postprocessor", "nothing", {"session_metadata": {}}, encode(stored()))
    assert decode(blob).empty_reason == "all_truncated"


def test_a_sample_of_the_hooks_own_has_nothing_of_the_servers(host: Host) -> None:
    _, blob = host.ask("postprocessor", "fresh", {"session_metadata": {}}, encode(stored()))
    assert decode(blob).samples[0].metadata == {"other": 1}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("foreign", "returned str among"),
        ("unfit", "do not fit wire dtype"),
        ("lengthens", "4 values of loss_mask for a response of 3 tokens"),
    ],
)
def test_what_is_no_samples_file_is_refused(host: Host, name: str, message: str) -> None:
    answer, _ = host.ask("postprocessor", name, {"session_metadata": {}}, encode(stored()))
    assert answer["error"]["cause"] == "bad_result" and message in answer["error"]["message"]


def test_a_hook_cannot_train_what_was_not_sampled() -> None:
    [one] = stored().samples
    one.origin = 0
    owned = Owned([one])
    one.loss_mask = [1, 1, 1]
    with pytest.raises(Fault, match="no engine sampled"):
        owned.restore(one)


def test_a_row_goes_with_its_tokens() -> None:
    [one] = stored().samples
    one.origin = 0
    owned = Owned([one])
    other = copy.deepcopy(one)
    other.tokens[0] = 9
    owned.restore(other)
    assert "verbatim" not in other.metadata and other.metadata["leaf"] == {"node_id": 3}


@pytest.mark.parametrize("path", ["", "a", ".a", "a.", "a:b:c", "a b:c", "a:1"])
def test_a_path_is_dotted_names(path: str) -> None:
    with pytest.raises(Fault) as caught:
        load(Kind.REWARD, path)
    assert caught.value.cause is Cause.BAD_PATH


def test_the_host_needs_the_standard_library_only(tmp_path: pathlib.Path) -> None:
    script = textwrap.dedent("""
        import sys
        import verbatim.host.loop, verbatim.host.__main__
        foreign = {"numpy", "httpx", "safetensors"} & set(sys.modules)
        assert not foreign, foreign
    """)
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert issubclass(MalformedPayload, ValueError)
