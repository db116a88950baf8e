"""A proxy between an agent and the server that lets one connection die, and sees what the agent makes of it.

It hands one turn's request on and cuts both connections before the reply is there, as a network does. What it then sees is
whether the agent sends the same again, and whether it says so.
"""

import hashlib
import re
import socket
import threading
import time

TURN = re.compile(rb"POST \S*/v1/(chat/completions|responses|messages)(\?\S*)? HTTP")
MARK = re.compile(rb"^(x-stainless-retry-count: *[1-9]|idempotency-key:)", re.IGNORECASE | re.MULTILINE)


class Flaky:
    """Listens on a port of its own until it is closed."""

    def __init__(self, server: tuple[str, int], dies: int, after: float) -> None:
        self.server, self.dies, self.after = server, dies, after
        self.lock = threading.Lock()
        # Each turn's request: a hash of its body, and whether it is marked as sent again.
        self.seen: list[tuple[str, bool]] = []
        self.dead: int | None = None
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self) -> None:
        self.socket.close()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client: socket.socket) -> None:
        """One request and its reply; each has a connection of its own."""
        with client, socket.create_connection(self.server) as server:
            try:
                head, body = read(client)
                if not head:
                    return
                dies = bool(TURN.match(head)) and self.note(head, body)
                head = re.sub(rb"(?im)^connection:.*\r\n", b"", head)
                server.sendall(head[:-2] + b"connection: close\r\n\r\n" + body)
                if dies:
                    time.sleep(self.after)
                    return
                while data := server.recv(1 << 16):
                    client.sendall(data)
            except OSError:
                return

    def note(self, head: bytes, body: bytes) -> bool:
        """Writes a turn's request down; says whether its connection is to die."""
        with self.lock:
            self.seen.append((hashlib.sha256(body).hexdigest(), bool(MARK.search(head))))
            if self.dead is None and len(self.seen) == self.dies:
                self.dead = len(self.seen) - 1
                return True
            return False

    def told(self) -> str:
        """What the agent did after the connection had died."""
        if self.dead is None:
            return "not seen"
        lost, later = self.seen[self.dead], self.seen[self.dead + 1:]
        for body, marked in later:
            if body == lost[0]:
                return "same body, counted" if marked else "same body, unmarked"
        return "another body" if later else "gives up"


def read(client: socket.socket) -> tuple[bytes, bytes]:
    """A request's head, its empty line included, and its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(1 << 16)
        if not more:
            return b"", b""
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    if re.search(rb"(?im)^expect: *100-continue", head):
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    if re.search(rb"(?im)^transfer-encoding: *chunked", head):
        while not body.endswith(b"0\r\n\r\n"):
            body += client.recv(1 << 16)
        return head + b"\r\n\r\n", body
    length = re.search(rb"(?im)^content-length: *(\d+)", head)
    while len(body) < int(length[1] if length else 0):
        body += client.recv(1 << 16)
    return head + b"\r\n\r\n", body
