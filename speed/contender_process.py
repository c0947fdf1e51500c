"""One contender of a comparison in a process of its own, so that its memory and time are its own.

The module that compares runs itself again with `--contender NAME`; what the contender found is the
last line of its output, as JSON.

Example: run_in_process("speed.log_probs", "plain", ["--tokens", "2048"])["cpu_seconds"]
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any


def run_in_process(module: str, contender: str, arguments: Sequence[str]) -> dict[str, Any]:
    """What the contender printed.

    Raises:
        RuntimeError: it failed; with the end of what it wrote on stderr.
    """
    command = [sys.executable, "-m", module, "--contender", contender, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{contender} failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
