"""Plug-ins that behave, and plug-ins that do not."""
import asyncio
import copy
import os
import pathlib
import subprocess
import sys
import time

NUMBER = 7


async def run_agent(base_url, prompt, request_kwargs, metadata, **kwargs):
    return {"url": base_url, "said": prompt[0]["content"], "extra": sorted(kwargs), "pid": os.getpid()}


def sync_agent(base_url, prompt, request_kwargs, metadata, flavour=None):
    return {"flavour": flavour}


def abort(args):
    pathlib.Path(args.file).write_text(args.word)


async def sleeps(base_url, prompt, request_kwargs, metadata, **kwargs):
    pathlib.Path(metadata["file"]).write_text("begun")
    try:
        await asyncio.sleep(60)
    finally:
        pathlib.Path(metadata["file"]).write_text("cancelled")


async def clings(base_url, prompt, request_kwargs, metadata, **kwargs):
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass


def same(stored, replayed):
    print("judging", stored)
    sys.stdout.write("more\n")
    os.write(1, b"\x00\x00\x00\x00raw")
    subprocess.run(["echo", "from a child"], check=True)
    return stored["content"] == replayed["content"]


def truthy(stored, replayed):
    return 1


async def async_matcher(stored, replayed):
    return True


def raises(stored, replayed):
    raise LookupError("no such thing: " + stored["content"])


def total(*numbers, scale=1):
    return sum(numbers) * scale


async def slow_total(*numbers):
    await asyncio.sleep(0.05)
    return sum(numbers)


def hangs(*_):
    time.sleep(60)


def naps(seconds):
    time.sleep(seconds)
    return os.getpid()


def dies_once(file):
    if not os.path.exists(file):
        pathlib.Path(file).write_text("died")
        print("last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), 9)
    return "alive"


def dies(*_):
    print("last words", file=sys.stderr, flush=True)
    os._exit(3)


async def agent_dies(base_url, prompt, request_kwargs, metadata):
    with open(metadata["file"], "a") as file:
        file.write("run ")
    dies()


def not_json():
    return {1, 2}


def quits():
    sys.exit(4)


def spawns(argument):
    subprocess.Popen(["setsid", "sleep", argument])
    return os.getpid()


def keep_last(samples, session_metadata):
    assert session_metadata["name"] == "s"
    return [samples[-1]]


def twice(samples, session_metadata):
    return [samples[0], samples[0]]


def copies(samples, session_metadata):
    return [copy.deepcopy(samples[0])]


def a_tuple(samples, session_metadata):
    return tuple(samples)


def rewards(samples, session_metadata):
    made = copy.deepcopy(samples[::-1])
    for sample in made:
        sample.reward = 0.5
        sample.metadata["leaf"] = "planted"
        sample.metadata["note"] = "mine"
    return made


def echo(value):
    return value
