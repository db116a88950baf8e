"""`python -m verbatim.host [--connect SOCKET]`: frames over standard input and output, or over a Unix socket."""
from __future__ import annotations

import argparse
import asyncio
import os
import socket
from typing import BinaryIO

from verbatim.host.loop import Host


def standard() -> tuple[BinaryIO, BinaryIO]:
    """Takes standard input and output for the frames. What is printed from now on, by whatever means, goes to
    standard error; who reads standard input finds its end."""
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return reader, writer


def connected(path: str) -> tuple[BinaryIO, BinaryIO]:
    """Connects to the owner's socket."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(path)
    return connection.makefile("rb"), connection.makefile("wb")


def main() -> None:
    """Serves one owner until it is gone."""
    parser = argparse.ArgumentParser(prog="python -m verbatim.host", description=__doc__)
    parser.add_argument("--connect", metavar="SOCKET", help="a Unix socket on which the owner listens")
    asked = parser.parse_args()
    reader, writer = standard() if asked.connect is None else connected(asked.connect)
    asyncio.run(Host(reader, writer).run())


if __name__ == "__main__":
    main()
