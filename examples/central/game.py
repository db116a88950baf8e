"""The agent's loop: guess a number from 1 to 10, told after each guess whether it is higher or lower.

Invariant: what the model said is sent back as it came, so that a session is one line.
"""
from __future__ import annotations

import http.client
import json
import re
import socket
from typing import Any
from urllib.parse import urlsplit

from records import Cancelled, Record

GUESSES = 5
RULES = "We play a game. I think of a number from 1 to 10 and you guess it. Answer with a number and nothing else."
# A game to imitate: what it shows the model to say was not sampled, and does not train.
SHOWN = [
    {"role": "user", "content": f"{RULES} Guess."},
    {"role": "assistant", "content": "5"},
    {"role": "user", "content": "It is higher. Guess again."},
    {"role": "assistant", "content": "8"},
    {"role": "user", "content": "It is lower. Guess again."},
    {"role": "assistant", "content": "7"},
    {"role": "user", "content": "Right. I think of another number. Guess."},
]


def play(record: Record) -> dict[str, Any]:
    """The result: 1 for the right guess at first, less for each one more, 0 for none."""
    secret = record.task["secret"]
    messages: list[dict[str, Any]] = list(SHOWN)
    guesses: list[int | None] = []
    while len(guesses) < GUESSES:
        choice = ask(record, messages)["choices"][0]
        said = choice["message"]["content"] or ""
        found = re.search(r"\d{1,4}", said)
        guess = int(found[0]) if found else None
        guesses.append(guess)
        if guess == secret:
            return {"reward": 1 - (len(guesses) - 1) / GUESSES, "metadata": {"guesses": guesses, "secret": secret}}
        if choice["finish_reason"] == "length":
            break
        hint = "That is no number." if guess is None else "It is higher." if guess < secret else "It is lower."
        messages += [choice["message"], {"role": "user", "content": f"{hint} Guess again."}]
    return {"reward": 0.0, "metadata": {"guesses": guesses, "secret": secret}}


def ask(record: Record, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """One turn. A turn may be held for as long as weights take, so nothing here gives up on it."""
    url = urlsplit(record.base_url)
    assert url.hostname is not None
    connection = http.client.HTTPConnection(url.hostname, url.port)
    try:
        connection.connect()
        sock = connection.sock
        record.hang_up = lambda: shut(sock)
        if record.cancelled.is_set():
            raise Cancelled
        body = json.dumps({"model": "policy", "messages": messages, "max_completion_tokens": 16})
        headers = {"content-type": "application/json", "authorization": f"Bearer {record.api_key}"}
        connection.request("POST", f"{url.path}/chat/completions", body, headers)
        reply = connection.getresponse()
        content = reply.read()
        if reply.status != 200:
            raise ConnectionError(f"{reply.status}: {content[:500].decode('utf-8', 'replace')}")
        answer: dict[str, Any] = json.loads(content)
        return answer
    except (OSError, http.client.HTTPException):
        if record.cancelled.is_set():
            raise Cancelled from None
        raise
    finally:
        record.hang_up = None
        connection.close()


def shut(sock: socket.socket) -> None:
    """Breaks a connection that another thread waits at."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
