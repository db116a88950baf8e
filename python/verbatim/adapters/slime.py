"""slime's `Sample`."""
from __future__ import annotations

from typing import Any, TypeVar

from verbatim.adapters.miles import miles_sample
from verbatim.rows import Row

S = TypeVar("S")


def slime_sample(row: Row, sample_class: type[S], **identity: Any) -> S:
    """An instance of slime's own class, whose fields are Miles' older ones; those that it does not have are
    left out. `identity` as in `miles_sample`."""
    sample = sample_class()
    status = getattr(sample_class, "Status", None)
    for name, value in miles_sample(row, **identity).items():
        if not hasattr(sample, name):
            continue
        if name == "status" and status is not None:
            value = status(value)
        if name in ("prefix_cache_info", "spec_info"):
            for key, count in value.items():
                if hasattr(getattr(sample, name), key):
                    setattr(getattr(sample, name), key, count)
            continue
        setattr(sample, name, value)
    return sample
