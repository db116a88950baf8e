"""Where things are."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
CACHE = pathlib.Path(os.environ.get("VERBATIM_CACHE", str(ROOT / ".cache"))).resolve()
BINARY = os.environ.get("VERBATIM_BIN", str(ROOT / "target/debug/verbatim"))
START = ROOT / "tools/engines/start"
WEIGHTS = CACHE / "engines/weights/smollm2-135m-instruct/hf"
RESULTS = CACHE / "engines/evidence"
ROLLOUT = ROOT / "examples/arithmetic/rollout.toml"
AGENT = ROOT / "target/debug/calculator-agent"
PAGE = ROOT / "docs/engines.md"
