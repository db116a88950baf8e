"""What an engine goes through while several clients talk: pauses, versions, clients that leave, a kill.

Afterwards the sessions must hold every reply that a client got, and nothing that contradicts one.
"""
import http.client
import itertools
import pathlib
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from . import rows as files
from .processes import Engine, Failed, Gateway, gateway
from .steps import holds
from .variants import Way
from .web import events, request

CLIENTS = 4
TURNS = 4
TOKENS = 48
# Replies that clients must have got in the end.
REPLIES = 24
# A turn may be held over the restart of an engine that takes minutes to start.
HELD = 1500
ASKED = (
    "Tell me about a river in two sentences.",
    "And what lives in it?",
    "Now say the same as a poem.",
    "Which of these words is the longest?",
    "Make a list of five things that you need there.",
)


@dataclass(frozen=True)
class Got:
    """A reply that a client received whole."""

    session: str
    response: str
    text: str


@dataclass
class Talk:
    """What the clients did and got."""

    url: str
    over: threading.Event = field(default_factory=threading.Event)
    sessions: list[str] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    left: int = 0

    def open(self, gateway: Gateway, lineage: str) -> str:
        session = gateway.open(lineage=lineage)
        self.sessions.append(session)
        return session

    def turn(self, session: str, messages: list[dict[str, str]], stream: bool) -> str | None:
        """One turn; its text, or None if there is none."""
        body = {"messages": messages, "max_completion_tokens": TOKENS, "temperature": 1.0, "stream": stream}
        url = f"{session}/v1/chat/completions"
        try:
            response, text = streamed(url, body) if stream else whole(url, body)
        except (OSError, http.client.HTTPException, ValueError) as failed:
            self.errors.append(f"{type(failed).__name__}: {failed}")
            return None
        self.got.append(Got(session, response, text))
        return text

    def conversation(self, gateway: Gateway, number: int) -> None:
        """A linear session of several turns, every other one streamed."""
        session = self.open(gateway, "linear")
        messages: list[dict[str, str]] = []
        for turn in range(TURNS):
            messages.append({"role": "user", "content": ASKED[(number + turn) % len(ASKED)]})
            said = self.turn(session, messages, stream=(number + turn) % 2 == 0)
            if said is None or self.over.is_set():
                return
            messages.append({"role": "assistant", "content": said})

    def leaver(self, gateway: Gateway, number: int) -> None:
        """Takes a turn, leaves in the middle of the next one, and asks for another in its place."""
        session = self.open(gateway, "tree")
        messages = [{"role": "user", "content": "Count from one to nine, in words. Write nothing else."}]
        body = {"messages": messages, "max_completion_tokens": 4 * TOKENS, "temperature": 1.0, "stream": True}
        asked = events(f"{session}/v1/chat/completions", body, timeout=HELD)
        try:
            # The first event comes before any token.
            for _ in itertools.islice(asked, 1 + number % 4 * 2):
                pass
            self.left += 1
        except (OSError, http.client.HTTPException) as failed:
            self.errors.append(f"{type(failed).__name__}: {failed}")
        finally:
            asked.close()
        self.turn(session, messages, stream=False)
        time.sleep(0.5)


def whole(url: str, body: dict[str, Any]) -> tuple[str, str]:
    reply = request(url, body, timeout=HELD)
    if reply.status != 200:
        raise http.client.HTTPException(f"{reply.status}: {reply.body.decode(errors='replace')}")
    completion = reply.json()
    return completion["id"], completion["choices"][0]["message"]["content"]


def streamed(url: str, body: dict[str, Any]) -> tuple[str, str]:
    text, response, ended = "", "", False
    for event in events(url, body, timeout=HELD):
        if event is None:
            ended = True
        elif "error" in event:
            raise http.client.HTTPException(f"in a stream: {event}")
        else:
            response = event["id"]
            text += "".join(choice["delta"].get("content") or "" for choice in event["choices"])
    if not ended:
        raise http.client.HTTPException("the stream ended without [DONE]")
    return response, text


def client(talk: Talk, gateway: Gateway, number: int) -> threading.Thread:
    """A thread that holds conversations until the talk is over."""

    def run() -> None:
        for round in itertools.count():
            if talk.over.is_set():
                return
            if number == 0:
                talk.leaver(gateway, round)
            else:
                talk.conversation(gateway, number + round)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def wait(what: str, true: Any, seconds: float = 300) -> None:
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            raise Failed(f"{what} did not come within {seconds} s")
        time.sleep(0.1)


class Fire:
    """One run: what was done to the engine, in order."""

    def __init__(self, engine: Engine, gateway: Gateway, talk: Talk) -> None:
        self.engine, self.gateway, self.talk = engine, gateway, talk
        self.version = 0
        self.done: list[str] = []

    def running(self) -> float:
        return self.gateway.counts()["verbatim_attempts_running"]

    def sampled(self) -> float:
        """Tokens of committed turns."""
        return self.gateway.counts().get('verbatim_tokens_total{kind="sampled"}', 0)

    def in_turns(self) -> None:
        """Returns in the middle of turns, after some have ended since the last time."""
        before = len(self.talk.got)
        wait("two more replies", lambda: len(self.talk.got) >= before + 2)
        wait("running attempts", lambda: self.running() >= 2)
        time.sleep(0.7)

    def ordered(self, route: str, **body: object) -> None:
        answer = self.gateway.control(route, **body)
        if answer["status"] != 200:
            raise Failed(f"control/{route} {body}: {answer}")

    def next_version(self) -> None:
        self.version += 1
        self.ordered("version", version=str(self.version))

    def pause(self, mode: str | None) -> None:
        """Pauses in the middle of turns, renames the weights meanwhile, goes on."""
        self.in_turns()
        self.ordered("pause", **({"mode": mode} if mode else {}))
        if mode in (None, "abort", "drain"):
            wait("an empty engine", lambda: self.running() == 0 and self.engine.in_flight() == 0, 30)
        # What was sampled just before is still on its way.
        time.sleep(0.5)
        before = self.sampled()
        time.sleep(2)
        if self.sampled() != before:
            raise Failed(f"turns were committed during pause {mode}")
        if self.engine.variant.versions:
            self.next_version()
        if mode == "abort":
            self.ordered("flush")
        self.ordered("resume")
        self.done.append(f"pause {mode or 'at the gate'}")

    def rename(self) -> None:
        """Another version in the middle of turns, without a pause."""
        self.in_turns()
        self.next_version()
        self.done.append("version in mid-turn")

    def kill(self) -> None:
        """SIGKILL in the middle of turns, and a new start."""
        self.in_turns()
        self.engine.kill()
        time.sleep(2)
        versions = self.engine.variant.versions
        if versions:
            # What a new process calls its weights is not what they were called: turns wait until it is told.
            self.ordered("pause")
        self.engine.start()
        if versions:
            wait("the engine in the pool", lambda: self.gateway.control("version")["status"] == 200)
            self.next_version()
            self.ordered("resume")
        self.done.append("kill -9 and restart in mid-turn")


def under_fire(engine: Engine, way: Way, kill: bool, folder: pathlib.Path) -> dict[str, Any]:
    """Everything at once; what happened, and that nothing was lost."""
    settings = (f"sessions.hold_seconds={HELD}", f"sessions.outage_seconds={HELD}")
    flags = ("--url", engine.url, *way.flags, *(flag for setting in settings for flag in ("--set", setting)))
    with gateway(folder / "fire.log", *flags) as serving:
        talk = Talk(serving.url)
        fire = Fire(engine, serving, talk)
        if engine.variant.versions:
            fire.next_version()
        threads = [client(talk, serving, number) for number in range(CLIENTS)]
        try:
            for mode in engine.variant.modes or (None,):
                fire.pause(mode)
            if engine.variant.versions:
                fire.rename()
            if kill:
                fire.kill()
            fire.in_turns()
            wait(f"{REPLIES} replies", lambda: len(talk.got) >= REPLIES, 600)
        except Failed:
            # Clients would wait in a paused engine.
            serving.control("resume")
            raise
        finally:
            talk.over.set()
            for thread in threads:
                thread.join(timeout=300)
        wait("an empty gate", lambda: fire.running() == 0 and serving.counts()["verbatim_turns_waiting"] == 0, 30)
        wait("an empty engine", lambda: engine.in_flight() == 0, 30)
        rows = collected(talk)
        outcome = survived(talk, rows)
        lost = {name: count for name, count in sorted(serving.counts().items()) if name.startswith("verbatim_lost")}
    burnt(lost, kill)
    if talk.errors:
        raise Failed(f"clients were told of failures: {talk.errors}")
    kept = files.write(rows, folder / "fire.jsonl")
    return {
        "done": fire.done,
        "left": talk.left,
        "errors": talk.errors,
        **outcome,
        "lost": lost,
        "gap": holds(kept, way, way.own, "--url", engine.url, *way.flags),
    }


def burnt(lost: dict[str, float], kill: bool) -> None:
    """That attempts were really aborted, left and, by a kill, broken in the middle."""
    for cause in ("attempt_aborted", "client_gone", *(["attempt_failed"] if kill else [])):
        if not any(f'cause="{cause}"' in name for name in lost):
            raise Failed(f"nothing was counted as {cause}: {lost}")


def collected(talk: Talk) -> list[dict[str, Any]]:
    """All rows of all sessions, replaced turns included."""
    rows = []
    for session in talk.sessions:
        if not any(node["kind"] == "generation" for node in request(session).json()["nodes"]):
            continue
        reply = request(f"{session}/samples", {"format": "jsonl", "pick": "all"})
        if reply.status != 200:
            raise Failed(f"samples: {reply.status} {reply.body.decode()}")
        rows += files.lines(reply.body)
    return rows


def survived(talk: Talk, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """That each reply is in the rows with its text, and that versions only grow."""
    spelling = files.Spelling()
    texts = {
        turn["response"]: spelling.text(row["tokens"][turn["start"] : turn["end"]])
        for row in rows
        for turn in row["turns"]
    }
    missing = [got.response for got in talk.got if got.response not in texts]
    other = [got for got in talk.got if got.response in texts and texts[got.response] != got.text]
    if missing or other:
        told = [(got.response, got.text, texts[got.response]) for got in other[:3]]
        raise Failed(f"of {len(talk.got)} replies {missing} are in no row, {len(other)} with another text: {told}")
    committed = {
        node["response"]
        for session in talk.sessions
        for node in request(session).json()["nodes"]
        if node["kind"] == "generation"
    }
    if committed - set(texts):
        raise Failed(f"committed turns are in no row: {committed - set(texts)}")
    versions = [sampled_versions(row) for row in rows]
    shrinking = [one for one in versions if (known := [v for v in one if v is not None]) != sorted(known, key=int)]
    if shrinking:
        raise Failed(f"versions go back: {shrinking}")
    return {
        "sessions": len(talk.sessions),
        "replies": len(talk.got),
        "committed": len(committed),
        "rows": len(rows),
        "tokens": sum(len(files.sampled(row)) for row in rows),
        "tokens_of_known_version": sum(version is not None for one in versions for version in one),
        "versions": sorted({v for one in versions for v in one if v is not None}, key=int),
        "rows_of_several_versions": sum(len({v for v in one if v is not None}) > 1 for one in versions),
    }


def sampled_versions(row: dict[str, Any]) -> list[str | None]:
    every = [version for version, count in row["versions"] for _ in range(count)]
    return [every[at] for at in files.sampled(row)]
