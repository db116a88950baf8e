"""Engines and gateways that the script owns."""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

from .place import BINARY, CACHE, START
from .variants import Variant
from .web import request

# An engine that is not there after so many seconds will not come.
PATIENCE = 600
ALIVE = {"sglang": "/model_info", "vllm": "/health", "llamacpp": "/health"}


class Failed(Exception):
    """Something is not as it must be."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Engine:
    """A real engine in a process group of its own."""

    def __init__(self, variant: Variant, log: pathlib.Path) -> None:
        self.variant = variant
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *flags: str) -> float:
        """Starts it, on the port it always has, and returns the seconds until it answers."""
        command = [str(START), self.variant.engine, self.variant.model, str(self.port), *self.variant.flags, *flags]
        began = time.monotonic()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True, env={**os.environ, "VERBATIM_CACHE": str(CACHE)}
            )
        while request(self.url + ALIVE[self.variant.engine], timeout=5).status != 200:
            if self._process.poll() is not None:
                raise Failed(f"{self.variant.name} ended while it started; see {self._log}")
            if time.monotonic() - began > PATIENCE:
                raise Failed(f"{self.variant.name} did not start within {PATIENCE} s; see {self._log}")
            time.sleep(0.5)
        return time.monotonic() - began

    def kill(self) -> None:
        """SIGKILL to all of it."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def stop(self) -> None:
        if self._process is None:
            return
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=20)
        self.kill()

    def _signal(self, number: int) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def in_flight(self) -> int:
        """What the engine itself says that it runs or keeps waiting."""
        match self.variant.engine:
            case "sglang":
                loads = request(f"{self.url}/v1/loads?include=core").json()["loads"]
                return sum(load["num_running_reqs"] + load["num_waiting_reqs"] for load in loads)
            case "vllm":
                lines = request(f"{self.url}/metrics").body.decode().splitlines()
                names = ("vllm:num_requests_running", "vllm:num_requests_waiting{", "vllm:num_requests_waiting ")
                return int(sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(names)))
            case _:
                return sum(slot["is_processing"] for slot in request(f"{self.url}/slots").json())


@contextlib.contextmanager
def engine(variant: Variant, log: pathlib.Path) -> Iterator[Engine]:
    """An engine that is gone afterwards."""
    made = Engine(variant, log)
    try:
        yield made
    finally:
        made.stop()


class Gateway:
    """A `verbatim serve`."""

    def __init__(self, log: pathlib.Path, *flags: str) -> None:
        command = [BINARY, "serve", "--listen", "127.0.0.1:0", *flags]
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith("listening on "):
            self._process.kill()
            raise Failed(f"{' '.join(command)} did not start: {log.read_text()}")
        self.url = line.split()[2]

    def open(self, **asked: object) -> str:
        """A session: its URL."""
        token = request(f"{self.url}/sessions", asked).json()["session_id"]
        return f"{self.url}/sessions/{token}"

    def control(self, route: str, **body: object) -> dict:
        """One control request, and what each engine answered."""
        reply = request(f"{self.url}/control/{route}", body, timeout=120)
        return {"status": reply.status, **reply.json()}

    def counts(self) -> dict[str, float]:
        """Counters and gauges, by name and labels."""
        lines = request(f"{self.url}/metrics").body.decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in pairs if "_bucket" not in name}

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise Failed("the gateway did not end within 30 s") from None


@contextlib.contextmanager
def gateway(log: pathlib.Path, *flags: str) -> Iterator[Gateway]:
    made = Gateway(log, *flags)
    try:
        yield made
    finally:
        made.stop()
