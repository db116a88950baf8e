"""One trajectory: session, agent, samples."""
from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Mapping
from typing import Any

from verbatim import codec
from verbatim.client import AsyncClient, AsyncSession
from verbatim.errors import (
    ApiError,
    DeadlineExceeded,
    SessionGone,
    SessionNotFound,
    TransportFailed,
    VerbatimError,
)
from verbatim.miles import agent, setup
from verbatim.miles.overlay import aborted, agents_own, check_fresh, overlaid, share_rollout
from verbatim.miles.request import request_kwargs

log = logging.getLogger(__name__)


class NoSamples(Exception):
    """There is nothing to train on; says why."""


async def agentic_generate(args: Any, sample: Any, sampling_params: Mapping[str, Any]) -> Any:
    """Runs the agent on a sample and gives what it made: one sample (v1), or a list of them (v2).

    Raises DriverError for a wrong set-up, Unauthorized for a wrong key, RuntimeError if the server refuses to
    assemble the samples; whatever else goes wrong yields an ABORTED copy of the input, whose metadata says why
    under `abort_reason`.
    """
    trajectory = setup.read(args)
    check_fresh(sample)
    try:
        async with AsyncClient(trajectory.url) as client:
            outcome, payload = await collected(client, trajectory, sample, sampling_params)
        if not payload.samples:
            reason = payload.empty_reason or "the server sent no sample"
            raise NoSamples(reason if outcome.error is None else f"{reason}; the agent failed: {outcome.error}")
    except NoSamples as none:
        log.warning("trajectory aborted: %s", none)
        copied = aborted(sample, str(none))
        return [copied] if trajectory.tree else copied
    made = [finished(trajectory, sample, sent, outcome, payload.session_metadata) for sent in payload.samples]
    if trajectory.tree:
        share_rollout(made, sample)
        return made
    if len(made) > 1:
        log.warning("the server sent %d samples to a linear driver; the first is kept", len(made))
    return made[0]


async def collected(
    client: AsyncClient, trajectory: setup.Setup, sample: Any, sampling_params: Mapping[str, Any]
) -> tuple[agent.Outcome, codec.Payload]:
    """Opens a session, runs the agent in it, fetches the samples, and deletes it. Raises NoSamples."""
    try:
        session = await client.create(lineage="tree" if trajectory.tree else "linear")
    except (TransportFailed, DeadlineExceeded) as error:
        raise NoSamples(f"no session could be opened: {error}") from error
    except ApiError as error:
        if error.may_retry:
            raise NoSamples(f"no session could be opened: {error}") from error
        raise
    try:
        outcome = await agent.run(
            trajectory.agent_path,
            trajectory.agent_seconds,
            base_url=session.url,
            prompt=sample.prompt,
            request_kwargs=request_kwargs(sampling_params),
            metadata=agent_metadata(trajectory, sample),
        )
        return outcome, await samples(session, trajectory, outcome)
    finally:
        # Also when the driver gave the trajectory up: a session that nobody deletes keeps its memory.
        await asyncio.shield(delete(session))


def agent_metadata(trajectory: setup.Setup, sample: Any) -> dict[str, Any]:
    """What the agent is told beside the prompt."""
    metadata = copy.deepcopy(getattr(sample, "metadata", None) or {})
    if trajectory.max_seq_len is not None:
        metadata["max_seq_len"] = trajectory.max_seq_len
    if trajectory.instance is not None:
        metadata["session_server_instance_id"] = trajectory.instance
    metadata["session_server_id"] = trajectory.server
    return metadata


async def samples(session: AsyncSession, trajectory: setup.Setup, outcome: agent.Outcome) -> codec.Payload:
    """The session's samples. Raises NoSamples if they cannot be had, RuntimeError if the server refuses."""
    # Linear, the driver merges it; a tree's post-processor wants it.
    metadata = agents_own(outcome.result) if trajectory.tree else None
    try:
        return await session.samples(max_seq_len=trajectory.max_seq_len, metadata=metadata)
    except (TransportFailed, DeadlineExceeded) as error:
        raise NoSamples(f"the samples could not be fetched: {error}") from error
    except (SessionNotFound, SessionGone) as error:
        raise NoSamples(f"the server lost the session: {error}") from error
    except ApiError as error:
        if error.may_retry:
            raise NoSamples(f"the samples could not be fetched: {error}") from error
        raise RuntimeError(f"the server refused the samples: {error}") from error


async def delete(session: AsyncSession) -> None:
    """Deletes a session; a failure is the server's to clean up after."""
    try:
        await session.delete()
    except VerbatimError as error:
        log.warning("session %s could not be deleted: %s", session.name, error)


def finished(
    trajectory: setup.Setup,
    sample: Any,
    sent: codec.Sample,
    outcome: agent.Outcome,
    session_metadata: Mapping[str, Any],
) -> Any:
    """One sample for the trainer."""
    made = overlaid(sample, sent)
    result = outcome.result or {}
    if not trajectory.tree:
        made.metadata.update({**(agents_own(result) or {}), **session_metadata})
    elif sent.reward is None and result.get("reward") is not None:
        made.reward = result["reward"]
    if outcome.error is not None:
        made.metadata["agent_error"] = outcome.error
    metrics = result.get("agent_metrics")
    if isinstance(metrics, dict) and metrics.get("total_tool_time") is not None:
        made.non_generation_time = metrics["total_tool_time"]
    return made
