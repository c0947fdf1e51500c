"""Starting a scripted server in a process of its own, and reading what it answered.

    answers = "tests.data_prep.scripted_answers:answer"
    with ScriptedServer("openai", answers, tmp_path, faults=0.3) as server:
        ModelSection(api="openai", base_url=server.base_url, model="small")
        ...
        [answered.fault for answered in server.answered()]

The process ends with the `with` block, and also when this process is killed.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from affect.llm.scripted.answered import Answered, read_log


@dataclass
class ScriptedServer:
    """api: `openai` or `gemini`. answers: `package.module:function`. folder: for its log, which a
    second server in the same folder continues. The rest as in `FaultPlan` and `Answering`;
    most_in_a_row 0 sets no end. port: 0 takes one that is free."""

    api: str
    answers: str
    folder: Path
    faults: float = 0.0
    always: str | None = None
    by_model: bool = False
    most_in_a_row: int = 2
    seed: int = 0
    latency_seconds: float = 0.0
    retry_after_seconds: int = 1
    port: int = 0
    base_url: str = ""
    _process: "subprocess.Popen[str] | None" = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        return self.folder / f"{self.api}_answered.jsonl"

    @property
    def _words(self) -> Path:
        return self.folder / f"{self.api}_stderr.txt"

    def answered(self) -> list[Answered]:
        """All that was answered so far, in order."""
        return read_log(self.log)

    def start(self) -> Self:
        """Returns once it listens. Raises RuntimeError with its words if it does not."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # What this process can import its child can, so that answers may stand beside tests.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with open(self._words, "wb") as words:
            self._process = subprocess.Popen(
                self._command(),
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.stop()
            said = self._words.read_text(encoding="utf-8").strip()
            raise RuntimeError(f"the scripted server did not start: {said}")
        listening = json.loads(line)
        self.port, self.base_url = listening["port"], listening["base_url"]
        return self

    def stop(self) -> None:
        """Ends the process and waits for its end; may be called again."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _command(self) -> list[str]:
        command = [
            sys.executable, "-m", "affect.llm.scripted", "--while-stdin-is-open",
            "--api", self.api, "--answers", self.answers, "--port", str(self.port),
            "--faults", str(self.faults), "--seed", str(self.seed),
            "--most-in-a-row", str(self.most_in_a_row),
            "--latency-seconds", str(self.latency_seconds),
            "--retry-after-seconds", str(self.retry_after_seconds), "--log", str(self.log),
        ]  # fmt: skip
        if self.always is not None:
            command += ["--always", self.always]
        return [*command, "--faults-by-model"] if self.by_model else command
