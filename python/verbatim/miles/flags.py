"""The flags that the driver needs, for Miles' parser."""
from __future__ import annotations

import argparse
from typing import Any

FLAGS: dict[str, dict[str, Any]] = {
    "--custom-agent-function-path": {"help": "the agent function, as package.module:function"},
    "--max-seq-len": {"type": int, "help": "tokens after which a row is cut"},
    "--verbatim-url": {"help": "the server's root; else VERBATIM_URL, else the session server's address"},
    "--verbatim-agent-seconds": {"type": float, "help": "how long an agent may take"},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that the parser does not have yet; Miles calls it by this name on a generate function."""
    known = {option for action in parser._actions for option in action.option_strings}
    for flag, options in FLAGS.items():
        if flag not in known:
            parser.add_argument(flag, default=None, **options)
