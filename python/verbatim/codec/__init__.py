"""The samples file that the server sends: safetensors, read and written without the server's code.

Invariant: what is decoded is what was encoded, value for value; a file that does not say what it must, or
whose parts do not belong together, is refused, never repaired. Source of the layout: Miles' samples op.

```python
payload = verbatim.codec.decode(session.samples_file())
for sample in payload.samples:
    print(sample.status, sum(sample.loss_mask or []), "of", sample.response_length)
```
"""
from __future__ import annotations

from verbatim.codec.decode import decode
from verbatim.codec.encode import encode
from verbatim.codec.errors import CodecError, MalformedPayload, MissingPart
from verbatim.codec.sample import SERVER_OWNED, Payload, Sample, SampleStatus

__all__ = [
    "SERVER_OWNED",
    "CodecError",
    "MalformedPayload",
    "MissingPart",
    "Payload",
    "Sample",
    "SampleStatus",
    "decode",
    "encode",
]
