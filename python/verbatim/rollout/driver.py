"""The rollout as an object."""
from __future__ import annotations

import contextlib
import json
import pathlib
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from verbatim import rows
from verbatim.client.attempts import Retry
from verbatim.client.blocking import Client
from verbatim.client.wire import Answer, Call, said
from verbatim.errors import ApiError, DeadlineExceeded
from verbatim.rollout.batch import Batch, Group, Lent, Progress
from verbatim.rollout.server import Server

POLL = 20.0
"""Seconds that one request waits for rows; what is longer is asked again."""
LONGEST = 300.0
"""Seconds that a group may be lent."""


class Rollout:
    """Groups of agents, rolled out step by step.

    `target` is a rollout file, for which a server is started that ends with this object; or the URL of a
    server that was started with `--rollout`, whose control key is `key` (else the content of the file that
    `VERBATIM_CONTROL_KEY_FILE` names). `settings` are more settings of a server that is started here, as
    `{"rollout.mode": '"async"'}`; `flags` more of its flags. In the folder `keep` every group's rows are kept as the
    file that they were delivered in.
    """

    def __init__(
        self,
        target: str | pathlib.Path,
        key: str | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        flags: Sequence[str] = (),
        retry: Retry | None = None,
        keep: str | pathlib.Path | None = None,
    ) -> None:
        self.server: Server | None = None
        """The server, if it was started here."""
        url = str(target)
        if not url.startswith(("http://", "https://")):
            sets = [f"--set={name}={json.dumps(value)}" for name, value in (settings or {}).items()]
            self.server = Server(pathlib.Path(target), [*sets, *flags])
            url, key = self.server.url, self.server.key
        elif settings or flags:
            raise ValueError("settings and flags are of a server that is started here; this one runs already")
        self._client = Client(url, key, retry=retry)
        self._keep = None if keep is None else pathlib.Path(keep)

    def __enter__(self) -> Rollout:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the server if it was started here, with everything that runs in it."""
        self._client.close()
        if self.server is not None:
            self.server.stop()

    @property
    def url(self) -> str:
        """The server's root."""
        return self._client.url

    # Steps.

    def step(self, groups: int | None = None, timeout: float = 3600.0) -> Batch | None:
        """Opens the next step, waits for its groups and takes their rows. None if no step can come any more.

        `groups` is how many, else `rollout.batch`. Raises DeadlineExceeded after `timeout` seconds; the step
        stays open then, and `take` goes on with it.
        """
        step = self.open(groups)
        return None if step is None else Batch(step, list(self.take(step, timeout)))

    def open(self, groups: int | None = None) -> int | None:
        """Opens the next step and gives its number. None if no step can come any more."""
        try:
            return int(self._json("POST", "/rollout/steps", said(groups=groups))["step"])
        except ApiError as refused:
            if refused.code == "rollout_over":
                return None
            raise

    def take(self, step: int, timeout: float = 3600.0) -> Iterator[Group]:
        """The groups of a step as they finish, until it has them all.

        A group is acknowledged once the next one is asked for: whoever dies over it finds it again.
        """
        until = time.monotonic() + timeout
        while True:
            left = until - time.monotonic()
            if left <= 0:
                raise DeadlineExceeded(f"step {step} has not got its groups in {timeout:g} s")
            # The server answers at once when the step is done.
            lent = self.lend(step, min(POLL, left), min(max(left, 1.0), LONGEST))
            if lent is not None:
                yield lent.group
                self.acknowledge(lent)
            elif self.progress(step).state == "done":
                return

    def lend(self, step: int, wait: float = POLL, seconds: float = LONGEST) -> Lent | None:
        """The next group of a step, or None if none comes within `wait` seconds.

        Unless `acknowledge` says within `seconds` that it is kept, it is given out again.
        """
        asked = f"/rollout/batches?step={step}&wait={wait:.3f}&lend={seconds:.3f}"
        answer = self._exchange("GET", asked, wait + 30.0)
        if answer.status == 204:
            return None
        group = group_of(answer)
        if self._keep is not None:
            kept(self._keep, group.name, answer.body)
        return Lent(int(answer.headers["x-verbatim-batch"]), group)

    def acknowledge(self, lent: Lent) -> None:
        """Says that a group is kept elsewhere from now on. Saying it twice does no harm."""
        self._exchange("POST", f"/rollout/batches/{lent.number}/ack")

    def progress(self, step: int) -> Progress:
        """Where a step is."""
        return Progress(**self._json("GET", f"/rollout/steps/{step}"))

    # Weights.

    @contextlib.contextmanager
    def update(
        self, version: str | int, mode: str = "abort", trained: int | None = None, timeout: float = 600.0
    ) -> Iterator[None]:
        """Within it nothing is sampled, and the engines take new weights; at its end they are named `version`.

        `mode` is what becomes of turns that run: `abort`, `retract` or `in_place`. `trained` is the step up to
        which the weights have been trained, else the newest one that is done. If the block raises, the weights
        keep the name that they had.
        """
        before = self.version()
        self._json("POST", "/control/begin_update", {"mode": mode, "deadline_seconds": timeout}, timeout)
        named, done = str(version), trained
        try:
            yield
        except BaseException:
            # Held turns go on with the weights that are there.
            named, done = before or str(version), self.state()["trained"]
            raise
        finally:
            body = {"version": named, "trained": done, "deadline_seconds": timeout}
            self._json("POST", "/control/end_update", said(**body), timeout)

    def load_weights(self, folder: str | pathlib.Path, timeout: float = 600.0) -> None:
        """Within an update: the engines take the weights in a Hugging Face folder, which they must be able to read.

        Engines that a trainer sends weights to directly need none of this.
        """
        body = {"path": str(pathlib.Path(folder).resolve()), "deadline_seconds": timeout}
        self._json("POST", "/control/load_weights", body, timeout)

    def version(self) -> str | None:
        """The name of the present weights, if the engines have one."""
        engines = self._json("POST", "/control/version", {})["engines"]
        return next((engine["version"] for engine in engines if engine.get("version")), None)

    def optimizer_step(
        self,
        step: int,
        rows: int,
        version: str | int,
        groups: Sequence[str] = (),
        metrics: Mapping[str, float] | None = None,
    ) -> None:
        """Writes into the event log that the trainer made a step of its optimizer, over the rows of a step."""
        body = {"step": step, "rows": rows, "version": str(version), "groups": list(groups),
                "metrics": dict(metrics or {})}
        self._exchange("POST", "/rollout/optimizer_step", body=body)

    # Evaluation.

    def evaluate(self, datasets: Sequence[str] | None = None, timeout: float = 3600.0) -> dict[str, dict[str, Any]]:
        """Evaluates on these datasets of the rollout file, or on all, and gives each one's report by its name.

        It runs beside what the rollout does, against the weights of the moment. Raises DeadlineExceeded after `timeout`
        seconds; the evaluation goes on then.
        """
        asked = said(datasets=None if datasets is None else list(datasets))
        number = self._json("POST", "/rollout/evaluations", asked)["evaluation"]
        until = time.monotonic() + timeout
        while (left := until - time.monotonic()) > 0:
            wait = min(POLL, left)
            report = self._json("GET", f"/rollout/evaluations/{number}?wait={wait:.3f}", None, wait + 30.0)
            if report["state"] == "done":
                return {dataset["dataset"]: dataset for dataset in report["datasets"]}
        raise DeadlineExceeded(f"evaluation {number} is not done in {timeout:g} s")

    # The rest.

    def state(self) -> dict[str, Any]:
        """The rollout as it is: steps, debt, groups by where they are, agents, tasks that were taken."""
        return self._json("GET", "/rollout")

    def pause(self) -> None:
        """No attempt starts; running ones are aborted and their turns held."""
        self._json("POST", "/control/pause", {})

    def resume(self) -> None:
        """Held turns go on."""
        self._json("POST", "/control/resume", {})

    def drain(self, timeout: float = 600.0) -> None:
        """Begins no group any more, drops those that have not finished, and returns once they are gone."""
        self._exchange("POST", "/rollout/drain")
        until = time.monotonic() + timeout
        while not (state := self.state())["over"] or state["agents"]:
            if time.monotonic() > until:
                raise DeadlineExceeded(f"the rollout has not drained in {timeout:g} s: {state}")
            time.sleep(0.05)

    def _json(self, method: str, path: str, body: dict[str, Any] | None = None, seconds: float = 60.0) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._exchange(method, path, seconds, body).body)
        return answer

    def _exchange(
        self, method: str, path: str, seconds: float = 60.0, body: dict[str, Any] | None = None
    ) -> Answer:
        return self._client.exchange(Call(method, path, body), seconds)


def group_of(answer: Answer) -> Group:
    """The group of a reply."""
    headers = answer.headers
    return Group(
        name=headers["x-verbatim-group"],
        step=int(headers["x-verbatim-step"]),
        rows=list(rows.parse(answer.body, "safetensors")),
        is_last=headers["x-verbatim-is-last"] == "true",
        deliveries=int(headers["x-verbatim-deliveries"]),
    )


def kept(folder: pathlib.Path, name: str, body: bytes) -> None:
    """Keeps a group's file, whole or not at all; one that is delivered again takes its own place."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / ".part"
    part.write_bytes(body)
    part.replace(folder / f"{name.replace(':', '-')}.safetensors")
