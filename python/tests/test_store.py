"""What leaves this machine: rows in an object store, and rewards asked for over https."""
from __future__ import annotations

import http.server
import io
import json
import os
import pathlib
import ssl
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pyarrow.parquet as parquet
import pytest
import trustme
from moto.server import ThreadedMotoServer

from server import BINARY
from test_rollout import rollout_file

BUCKET = "runs"
KEYS = {"AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "something", "AWS_REGION": "us-east-1"}


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A bucket of S3, on this machine, and the environment that opens it."""
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    _, port = server.get_host_and_port()
    url = f"http://127.0.0.1:{port}"
    for name, value in {**KEYS, "AWS_ENDPOINT": url, "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(name, value)
    s3 = boto3.resource(
        "s3", endpoint_url=url, region_name=KEYS["AWS_REGION"],
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"], aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
    )
    # What its servers hold is one and the same in a process.
    made = s3.create_bucket(Bucket=BUCKET)
    made.objects.all().delete()
    yield made
    server.stop()


def run(file: pathlib.Path, *settings: str, **environment: str) -> subprocess.CompletedProcess[str]:
    flags = [part for setting in settings for part in ("--set", setting)]
    return subprocess.run(
        [BINARY, "run", str(file), *flags], env=os.environ | environment, capture_output=True, text=True, timeout=120,
        check=False,
    )


def test_rows_are_objects_of_a_store(tmp_path: pathlib.Path, bucket: Any) -> None:
    file = rollout_file(tmp_path)
    done = run(file, f'rollout.output="s3://{BUCKET}/one/two"')
    assert done.returncode == 0, done.stderr
    assert f"rows: s3://{BUCKET}/one/two" in done.stdout
    objects = {item.key: item.get()["Body"].read() for item in bucket.objects.all()}
    assert sorted(objects) == ["one/two/_verbatim.json", *(f"one/two/train-{at}.parquet" for at in range(3))]
    assert json.loads(objects.pop("one/two/_verbatim.json"))["format"] == "parquet"
    for body in objects.values():
        assert len(parquet.read_table(io.BytesIO(body))) == 2, "a row a session"


def test_rows_that_are_large_go_up_in_parts(tmp_path: pathlib.Path, bucket: Any) -> None:
    # Ten megabytes of metadata a task are in both rows of its group.
    file = rollout_file(tmp_path, tasks=1)
    (tmp_path / "tasks.jsonl").write_text(json.dumps({"input": "q", "metadata": {"long": "z" * (10 << 20)}}) + "\n")
    done = run(file, f'rollout.output="s3://{BUCKET}"', 'rollout.format="jsonl"')
    assert done.returncode == 0, done.stderr
    item = bucket.Object("train-0.jsonl")
    assert item.content_length > 20 << 20 and item.e_tag.strip('"').endswith("-2"), item.e_tag
    assert len(item.get()["Body"].read().splitlines()) == 2


def test_a_store_that_takes_nothing_is_known_before_anything_runs(tmp_path: pathlib.Path, bucket: Any) -> None:
    file = rollout_file(tmp_path)
    for url, says in [("s3://no-such-bucket/x", "it takes no object"), ("ftp://host/x", "ftp://host/x: ")]:
        done = run(file, f'rollout.output="{url}"')
        assert done.returncode == 1 and url in done.stderr and says in done.stderr, done.stderr
    done = run(file, 'rollout.sink="store"')
    assert "is no URL of an object store, as s3://bucket/run" in done.stderr
    done = run(file, 'rollout.sink="folder"', f'rollout.output="s3://{BUCKET}"')
    assert 'set rollout.sink = "store"' in done.stderr
    assert not list(bucket.objects.all())


def test_a_reward_is_asked_for_over_https(tmp_path: pathlib.Path) -> None:
    class Scorer(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = b'{"reward": 0.5}'
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scorer)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    known = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(known))

    file = rollout_file(tmp_path, tasks=1)
    agent = tmp_path / "agent.py"
    agent.write_text(agent.read_text().replace('"reward": float(os.getpid() % 2), ', ""))
    scored = f'reward.session="https://localhost:{server.server_port}/"'
    settings = [scored, f'rollout.output="{tmp_path}/rows"', "reward.retries=0"]
    try:
        done = run(file, *settings, SSL_CERT_FILE=str(known))
        assert done.returncode == 0 and "0.500" in done.stdout, done.stdout + done.stderr
        stranger = run(file, *settings)
        assert "reward_failed" in stranger.stdout + stranger.stderr, "whom nobody vouches for is not asked"
    finally:
        server.shutdown()
