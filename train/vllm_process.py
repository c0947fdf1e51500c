"""A rollout engine as a child process, for as long as its trainer lives and no longer.

The child listens on a socket file in a private folder and watches its standard input, whose other
end this process holds: however the trainer ends, kill -9 included, the engine ends with it. It is
in a process group of its own: a Ctrl-C reaches the trainer alone, which may finish its step.

Example:
    process = EngineProcess(python, ["--model", "runs/demo/sft/final", ...], log)
    client = process.wait(start_timeout_seconds=900, timeout_seconds=1800)
    process.close()
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from train.vllm_client import EngineClient

_CHECKOUT = Path(__file__).resolve().parents[1]
OWN_ENVIRONMENT = _CHECKOUT / ".venv-vllm" / "bin" / "python"
_POLL_SECONDS = 0.2
_END_SECONDS = 20
_LOG_TAIL_CHARS = 2000

# What a launcher tells its processes about each other; an engine is none of them.
_LAUNCHER_PREFIXES = ("TORCHELASTIC_", "ACCELERATE_", "FSDP_", "PMI_")
_LAUNCHER_NAMES = frozenset(
    {
        *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK"),
        *("ROLE_NAME", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"),
    }
)


class EngineProcess:
    """Starts `train.vllm_server` at once; `wait` returns when it serves."""

    def __init__(self, python: Path, arguments: Sequence[str], log: Path) -> None:
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        # Not in the run's folder: a socket's path may have about a hundred characters.
        self._folder = Path(tempfile.mkdtemp(prefix="rollout_engine_"))
        self.socket = self._folder / "socket"
        command = [str(python), "-m", "train.vllm_server", *arguments]
        command += ["--socket", str(self.socket), "--with-parent"]
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=engine_environment(os.environ),
                start_new_session=True,
            )

    def wait(self, start_timeout_seconds: float, timeout_seconds: float) -> EngineClient:
        """A client of the engine once it is loaded.

        Raises:
            ValueError: it ended, or did not load in time; with the end of its log.
        """
        until = time.monotonic() + start_timeout_seconds
        while not self._serves():
            if self.process.poll() is not None:
                raise ValueError(
                    f"the rollout engine ended while it started; its log {self.log} ends with:\n"
                    f"{self._log_tail()}"
                )
            if time.monotonic() > until:
                self.close()
                raise ValueError(
                    f"the rollout engine did not start within {start_timeout_seconds} s; raise "
                    f"rollout.vllm.start_timeout_seconds, or look into {self.log}, which ends "
                    f"with:\n{self._log_tail()}"
                )
            time.sleep(_POLL_SECONDS)
        return EngineClient(self.socket, timeout_seconds)

    def close(self) -> None:
        """End the process and wait for it; doing so twice is fine."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _serves(self) -> bool:
        # Asked for only once it says so: a connection that waits would wait for the whole load.
        return b"\nserving " in b"\n" + self.log.read_bytes()

    def _log_tail(self) -> str:
        return self.log.read_text(errors="replace")[-_LOG_TAIL_CHARS:]


def engine_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what a launcher set, on this process's GPU, our code on the path.

    Example: `engine_environment({"RANK": "1", "LOCAL_RANK": "1"})["CUDA_VISIBLE_DEVICES"]` is "1".
    """
    kept = {
        name: value
        for name, value in environment.items()
        if name not in _LAUNCHER_NAMES and not name.startswith(_LAUNCHER_PREFIXES)
    }
    local_rank = int(environment.get("LOCAL_RANK", "0"))
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        kept["CUDA_VISIBLE_DEVICES"] = str(local_rank)
    elif local_rank < len(devices := visible.split(",")):
        kept["CUDA_VISIBLE_DEVICES"] = devices[local_rank]
    path = [str(_CHECKOUT), *filter(None, [environment.get("PYTHONPATH")])]
    kept["PYTHONPATH"] = os.pathsep.join(path)
    return kept
