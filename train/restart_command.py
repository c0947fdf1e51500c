"""The command that started this run, as it was typed, so that it can be shown for going on.

The launcher's part of it is not among a script's arguments; Linux tells it as the command line of
the parent process, which must be asked while the launcher lives.

Example: restart_command()  # "cd ~/dar && accelerate launch train/sft.py --config a.yaml"
"""

import os
import shlex
import sys
from pathlib import Path

_LAUNCHERS = ("accelerate", "torchrun")


def restart_command() -> str:
    """One line for a shell, from any folder; without a known launcher, the bare Python command."""
    script = sys.argv[0]
    words = _command_line(os.getppid())
    if script not in words:
        words = _command_line(os.getpid())
    if script not in words:
        words = [sys.executable, *sys.argv]
    # "python /path/accelerate" was typed as "accelerate".
    if Path(words[0]).name.startswith("python") and Path(words[1]).name in (
        "accelerate",
        "torchrun",
    ):
        words = words[1:]
    return f"cd {shlex.quote(os.getcwd())} && {shlex.join(words)}"


def _command_line(process_id: int) -> list[str]:
    try:
        content = Path(f"/proc/{process_id}/cmdline").read_bytes()
    except OSError:  # no Linux, or the process is gone
        return []
    return [os.fsdecode(word) for word in content.split(b"\0")[:-1]]
