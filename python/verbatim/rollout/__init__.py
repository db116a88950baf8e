"""A rollout from the trainer's side: steps opened, rows taken, weights announced.

Invariant: rows that were handed out are acknowledged only once the trainer came back for more, so that a
trainer that dies loses none.

```python
with verbatim.Rollout("rollout.toml") as rollout:
    while (batch := rollout.step(groups=32)) is not None:
        train(batch.rows)
        with rollout.update(version=str(batch.step)):
            push_weights()
```
"""
from __future__ import annotations

from verbatim.rollout.batch import Batch, Group, Lent, Progress
from verbatim.rollout.driver import Rollout
from verbatim.rollout.server import ServerFailed

__all__ = ["Batch", "Group", "Lent", "Progress", "Rollout", "ServerFailed"]
