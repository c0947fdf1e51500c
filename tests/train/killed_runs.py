"""Runs of the two commands that are killed and started again, and what each start read.

Example:
    run = KilledRun("sft", tmp_path / "run", ONE_PROCESS, arguments)
    run.start("begin 6")             # SIGKILL at the begin of step 6
    start = run.finish()             # the same command, to its end
    start.rows["0"], start.decodes["0"]
"""

import json
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from affect.model.loading import load_policy
from affect.records import write_sft_rows
from affect.run_folder import RunFolder
from tests.train.drawn_rows import CLIPS, row
from tests.train.launching import (
    Places,
    entry,
    launch,
    launch_command,
    launch_environment,
    start_arguments,
)

NOTED_RUN = Path(__file__).with_name("noted_run.py")
# Five rows in steps of two: the last step of each epoch has one.
ROWS_PER_STEP = 2
ROW_IDS = (*CLIPS, "again")
CLIP_OF_ROW = {**{name: name for name in CLIPS}, "again": "square"}
# Of a log line, what tells the time.
CLOCKS = ("elapsed_seconds", "step_time")


def five_rows(places: Places) -> list[str]:
    """Writes the rows' file, and returns the arguments that name it; no clip stays in memory."""
    path = places.world / "five.jsonl"
    rows = [row(clip, id=row_id) for row_id, clip in CLIP_OF_ROW.items()]
    write_sft_rows(path, rows)
    return ["--data.rows", str(path), "--data.clip_cache_megabytes", "0"]


@dataclass(frozen=True)
class Start:
    """One start of a run: how it ended, and by process the rows it read, the clips it decoded, and
    for each step how often the model's parts were called so far.
    """

    result: subprocess.CompletedProcess[str]
    rows: dict[str, list[str]]
    decodes: dict[str, list[str]]
    calls: dict[str, list[str]]


@dataclass
class KilledRun:
    """A run in `folder`; every start is the same command."""

    name: str
    folder: Path
    launcher: Sequence[str]
    arguments: Sequence[str]
    variables: dict[str, str] = field(default_factory=dict)
    num_starts: int = 0

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.folder)

    @property
    def script(self) -> Path:
        return entry(self.name)

    def start(self, kill: str = "", **variables: str) -> Start:
        """Start it, to be killed at a moment that `noted_run` knows, or to its end."""
        notes = self._new_notes()
        result = launch(
            self.launcher,
            NOTED_RUN,
            start_arguments(self.name, self.folder, *self.arguments),
            **self._variables(notes, KILL=kill, **variables),
        )
        return Start(result, _read(notes, "rows"), _read(notes, "decodes"), _read(notes, "calls"))

    def finish(self) -> Start:
        """Start it once more, to its end."""
        start = self.start()
        shown = start.result.stdout[-3000:] + start.result.stderr[-5000:]
        assert start.result.returncode == 0, shown
        assert self.run.is_done
        return start

    def open(self, **variables: str) -> subprocess.Popen[str]:
        """Start it as the leader of a group of processes, and do not wait."""
        return subprocess.Popen(
            launch_command(
                self.launcher, NOTED_RUN, start_arguments(self.name, self.folder, *self.arguments)
            ),
            env=launch_environment(**self._variables(self._new_notes(), **variables)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A shell starts its background jobs, this test perhaps, with SIGINT ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def _variables(self, notes: Path, **variables: str) -> dict[str, str]:
        told = {"NOTES": str(notes), "SCRIPT": str(self.script)}
        return {**told, **self.variables, **variables}

    def _new_notes(self) -> Path:
        self.num_starts += 1
        notes = self.folder.with_name(f"{self.folder.name}-notes-{self.num_starts}")
        notes.mkdir(parents=True)
        return notes


def _read(notes: Path, kind: str) -> dict[str, list[str]]:
    return {
        path.name.removeprefix(f"{kind}-"): path.read_text().split()
        for path in sorted(notes.glob(f"{kind}-*"))
    }


def log_lines(run: RunFolder) -> list[dict[str, Any]]:
    """All lines of metrics.jsonl but the closing one, without the clocks."""
    lines = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    return [
        {key: value for key, value in line.items() if key not in CLOCKS}
        for line in lines
        if "train_runtime" not in line
    ]


def check_same_weights(one: RunFolder, other: RunFolder, tolerance: float = 0.0) -> None:
    """The final models are equal, bit by bit if there is no tolerance."""
    weights, expected = (load_policy(run.final)[0].state_dict() for run in (one, other))
    assert weights.keys() == expected.keys()
    difference = max(float((weights[name] - expected[name]).abs().max()) for name in weights)
    assert difference <= tolerance


def check_same_calls(start: Start, num_steps: int) -> None:
    """Both processes called the model's parts equally often in each step, and did train.

    A tower whose features are on disk need not be called.
    """
    assert start.calls["0"] == start.calls["1"]
    assert len(start.calls["0"]) == num_steps
    last = dict(part.split("=") for part in start.calls["0"][-1].split(":")[1].split(","))
    assert all(int(last[name]) >= num_steps for name in ("model", "layer", "backward")), last


def resumed_from(start: Start) -> str | None:
    """Name of the checkpoint that a start said it resumes from."""
    for line in start.result.stdout.splitlines():
        if line.startswith("resuming from "):
            return Path(line).name
    return None
