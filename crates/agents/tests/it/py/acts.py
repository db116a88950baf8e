"""Agent functions that behave, and some that do not."""
import asyncio
import pathlib
import time

ABORTED = []
"""Sessions that `abort` was called for, and why."""


async def solves(base_url, prompt, request_kwargs, metadata, **kwargs):
    return {
        "reward": 1.0,
        "said": prompt[0]["content"],
        "url": base_url,
        "kwargs": request_kwargs,
        "extra": sorted(kwargs),
        "number": metadata["number"],
    }


def solves_plainly(base_url, prompt, request_kwargs, metadata, api_key=None):
    return {"api_key": api_key}


async def returns_nothing(base_url, prompt, request_kwargs, metadata, **kwargs):
    return None


async def exports(base_url, prompt, request_kwargs, metadata, **kwargs):
    return {"records": [{"name": "main", "messages": prompt, "reward": 0.5}]}


async def raises(base_url, prompt, request_kwargs, metadata, **kwargs):
    raise ValueError("no such tool")


async def returns_a_list(base_url, prompt, request_kwargs, metadata, **kwargs):
    return []


async def hangs(base_url, prompt, request_kwargs, metadata, **kwargs):
    mark(request_kwargs, "begun")
    try:
        await asyncio.sleep(60)
    finally:
        mark(request_kwargs, "cancelled")


def hangs_plainly(base_url, prompt, request_kwargs, metadata, **kwargs):
    mark(request_kwargs, "begun")
    time.sleep(60)


def abort(args):
    ABORTED.append((args.session_id, args.why))


async def aborted(base_url, prompt, request_kwargs, metadata, **kwargs):
    return {"aborted": ABORTED}


def mark(request_kwargs, word):
    (pathlib.Path(request_kwargs["folder"]) / word).touch()
