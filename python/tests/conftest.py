"""Servers that all tests share: one on the embedded model, one that simulates."""
import pathlib
from collections.abc import Iterator

import pytest

from server import Server


def serving(log: pathlib.Path, *flags: str) -> Iterator[Server]:
    server = Server(log, *flags)
    yield server
    assert server.stop() == 0, log.read_text()


@pytest.fixture(scope="session", autouse=True)
def clean_checkout() -> Iterator[None]:
    """What the tests write lies in folders of their own."""
    ours = pathlib.Path(__file__).resolve().parents[2]
    before = {path.name for path in ours.iterdir()}
    yield
    assert {path.name for path in ours.iterdir()} - before <= {"target", ".cache"}


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The small real model on this machine's CPU."""
    yield from serving(tmp_path_factory.mktemp("embedded") / "server.log")


@pytest.fixture(scope="session")
def sim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Random text, 20 ms a token, so that what comes early and what comes late can be told apart."""
    flags = ("--engine", "sim", "--set", "engine.sim_token_us=20000", "--set", "engine.sim_tokens=30")
    yield from serving(tmp_path_factory.mktemp("sim") / "server.log", *flags)


@pytest.fixture(scope="session")
def swift(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Random text as fast as it comes, for what is about rows and not about time."""
    flags = ("--engine", "sim", "--set", "engine.sim_token_us=200", "--set", "engine.sim_tokens=30")
    yield from serving(tmp_path_factory.mktemp("swift") / "server.log", *flags)
