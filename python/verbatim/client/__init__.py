"""A client of `verbatim serve`: sessions opened, their samples fetched, closed again.

Invariant: every operation ends within its deadline, and nothing is tried again that another try cannot
change, a 404 and a 410 above all.

```python
with verbatim.client.Client("http://127.0.0.1:8377") as client, client.create(lineage="tree") as session:
    agent(base_url=session.base_url, api_key=session.api_key)
    payload = session.samples()
```
"""
from __future__ import annotations

from verbatim.client.aio import AsyncClient, AsyncSession
from verbatim.client.attempts import Retry
from verbatim.client.blocking import Client, Session
from verbatim.client.wire import Deadlines
from verbatim.errors import (
    ApiError,
    DeadlineExceeded,
    SamplesRefused,
    SessionGone,
    SessionNotFound,
    TransportFailed,
    Unauthorized,
    VerbatimError,
)

__all__ = [
    "ApiError",
    "AsyncClient",
    "AsyncSession",
    "Client",
    "DeadlineExceeded",
    "Deadlines",
    "Retry",
    "SamplesRefused",
    "Session",
    "SessionGone",
    "SessionNotFound",
    "TransportFailed",
    "Unauthorized",
    "VerbatimError",
]
