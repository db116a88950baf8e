"""What the driver reads from Miles' arguments."""
from __future__ import annotations

import os
import random
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from verbatim.errors import DriverError


@dataclass(frozen=True)
class Setup:
    """Where the server is and how a trajectory runs."""

    url: str
    """The server's root."""
    instance: str | None
    """The instance's id, if the driver knows it."""
    tree: bool
    """Whether the reply is a list with one sample a leaf (`v2`), or one sample (`v1`)."""
    agent_path: str
    """The agent function's dotted path."""
    max_seq_len: int | None
    """Tokens after which a row is cut."""
    agent_seconds: float | None
    """How long an agent may take; None: as long as it likes."""

    @property
    def server(self) -> str:
        """`host:port`, as agents are told."""
        return urlsplit(self.url).netloc


def read(args: Any) -> Setup:
    """Reads the arguments; a port is drawn at random where there are several.

    Names read: `verbatim_url` (else the variable `VERBATIM_URL`, else `session_server_ip` and
    `session_server_ports`), `session_server_instance_ids`, `use_session_server`, `custom_agent_function_path`,
    `max_seq_len`, `verbatim_agent_seconds`. Raises DriverError if one is missing.
    """
    agent_path = getattr(args, "custom_agent_function_path", None)
    if not agent_path:
        raise DriverError("there is no agent: set --custom-agent-function-path")
    url, port = address(args)
    instances = getattr(args, "session_server_instance_ids", None) or {}
    seconds = getattr(args, "verbatim_agent_seconds", None)
    return Setup(
        url=url,
        instance=instances.get(port, instances.get(str(port))) if port is not None else None,
        tree=getattr(args, "use_session_server", None) == "v2",
        agent_path=agent_path,
        max_seq_len=getattr(args, "max_seq_len", None),
        agent_seconds=None if seconds is None else float(seconds),
    )


def address(args: Any) -> tuple[str, int | None]:
    """The server's root and its port."""
    url = getattr(args, "verbatim_url", None) or os.environ.get("VERBATIM_URL")
    if url:
        return url.rstrip("/"), urlsplit(url).port
    ip, ports = getattr(args, "session_server_ip", None), getattr(args, "session_server_ports", None)
    if not ip or not ports:
        raise DriverError(
            "there is no session server: set VERBATIM_URL, or session_server_ip and session_server_ports"
        )
    port = random.choice(list(ports))
    host = f"[{ip}]" if ":" in ip and not ip.startswith("[") else ip
    return f"http://{host}:{port}", port
