"""What the server writes, held against the official SDKs' types: replies and streams with reasoning, text and calls, as
the snapshots of crates/dialects/tests/it/types.rs have them."""
import json
import pathlib
from typing import Any

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from server import ROOT

SNAPSHOTS = ROOT / "crates/dialects/tests/it/snapshots"
RESPONSES: Any = ResponseStreamEvent
MESSAGES: Any = RawMessageStreamEvent


def told(name: str) -> list[dict[str, Any]]:
    text = pathlib.Path(SNAPSHOTS / f"it__types__{name}.snap").read_text()
    return [json.loads(line) for line in text.split("---\n", 2)[2].splitlines() if line]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("responses_stream", RESPONSES),
        ("responses_stream_summary", RESPONSES),
        ("responses_stream_failed", RESPONSES),
        ("responses_whole", Response),
        ("anthropic_stream", MESSAGES),
        ("anthropic_whole", Message),
    ],
)
def test_every_value_is_of_the_sdks_type(name: str, expected: Any) -> None:
    values = told(name)
    assert values
    adapter: TypeAdapter[Any] = TypeAdapter(expected)
    for value in values:
        # A ping is handled before types are looked at.
        if value["type" if "type" in value else "object"] != "ping":
            adapter.validate_python(value)
