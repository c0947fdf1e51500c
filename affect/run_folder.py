"""The folder of one run: where everything lies, what it ran with, and whether it finished.

runs/demo/grpo/
    config.yaml               the resolved configuration
    environment.json          revision, package versions, machine, command
    budget.json               frame budget and prompt hash
    metrics.jsonl             one line per logged step
    quarantine.jsonl          videos that can't be decoded, or not in time, if any
    replaced_rows.jsonl       rows whose clip couldn't be read, and which row took their place
    stalled/rank_0.txt        where each process stood when a run stood still and was ended
    completions/step_000012.jsonl
    checkpoints/checkpoint-12/
    final/                    the trained model
    predictions/test.jsonl
    scores/test.json
    analysis/test.json        per emotion, confusion, boundaries, breakdowns
    judgements/test/judge_paper.gpt-4o.jsonl
    tsl300/tsl.json           scores on TSL-300
    replies.sqlite            replies bought from servers, so that none is bought twice
    export/                   the model as others load it, with its card
    pushed.json               where that lies on a hub
    done.json                 written last: the run finished

folder = RunFolder(Path("runs/demo/grpo"))
folder.write_environment(sys.argv)
...
folder.write_done({"steps": 120})
"""

import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from affect.atomic import write_text_atomic
from affect.without_passwords import without_passwords

_CHECKOUT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of a run, none of which need exist, and its two records. A name that would lead out of
    the folder raises ValueError."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def environment(self) -> Path:
        return self.path / "environment.json"

    @property
    def budget(self) -> Path:
        return self.path / "budget.json"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def quarantine(self) -> Path:
        return self.path / "quarantine.jsonl"

    @property
    def replaced_rows(self) -> Path:
        return self.path / "replaced_rows.jsonl"

    @property
    def stalled(self) -> Path:
        return self.path / "stalled"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def final(self) -> Path:
        return self.path / "final"

    @property
    def export(self) -> Path:
        return self.path / "export"

    @property
    def pushed(self) -> Path:
        return self.path / "pushed.json"

    @property
    def done(self) -> Path:
        return self.path / "done.json"

    def completions(self, step: int) -> Path:
        return self.path / "completions" / f"step_{step:06d}.jsonl"

    def checkpoint(self, step: int) -> Path:
        return self.checkpoints / f"checkpoint-{step}"

    def predictions(self, name: str) -> Path:
        return self.path / "predictions" / f"{plain_name(name)}.jsonl"

    def scores(self, name: str) -> Path:
        return self.path / "scores" / f"{plain_name(name)}.json"

    def analysis(self, name: str) -> Path:
        return self.path / "analysis" / f"{plain_name(name)}.json"

    def judgements(self, name: str, label: str) -> Path:
        return self.path / "judgements" / plain_name(name) / f"{label}.jsonl"

    def tsl300(self, name: str) -> Path:
        return self.path / "tsl300" / f"{plain_name(name)}.json"

    @property
    def replies(self) -> Path:
        return self.path / "replies.sqlite"

    @property
    def is_done(self) -> bool:
        """Whether the run finished; everything else in the folder may stem from one cut short."""
        return self.done.is_file()

    def write_environment(self, command: Sequence[str]) -> None:
        """Record what this start ran with; a resumed run records its latest start."""
        write_json(self.environment, environment_record(command))

    def write_done(self, summary: Mapping[str, Any]) -> None:
        """Call it last, with what a later command may want to know, such as the number of steps."""
        write_json(self.done, {"finished_at": _now(), **summary})


def plain_name(name: str) -> str:
    """The name, if it can be that of one file. Raises ValueError for a path."""
    if name in {"", ".", ".."} or Path(name).name != name:
        raise ValueError(f"name {name!r} must be a plain file name")
    return name


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """One JSON object, indented, whole or not at all; NaN and Infinity are refused (ValueError)."""
    write_text_atomic(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def environment_record(command: Sequence[str]) -> dict[str, Any]:
    """What is needed to run the same again: revision, versions, machine, command line.

    `git` is None where the code does not run from a checkout of its own, or git is absent.
    """
    packages = {dist.name: dist.version for dist in metadata.distributions()}
    return {
        "started_at": _now(),
        "command": [without_passwords(one) for one in command],
        "git": _git_state(_CHECKOUT),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "num_cpus": os.cpu_count(),
        "packages": dict(sorted(packages.items(), key=lambda item: item[0].lower())),
    }


def _git_state(checkout: Path) -> dict[str, Any] | None:
    try:
        top = _git(checkout, "rev-parse", "--show-toplevel")
        if Path(top).resolve() != checkout:
            return None
        return {
            "revision": _git(checkout, "rev-parse", "HEAD"),
            "dirty": bool(_git(checkout, "status", "--porcelain")),
        }
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def checkpoint_steps(checkpoints: Path) -> list[int]:
    """Steps of all folders checkpoint-N in a run's `checkpoints`, whole or not, ascending."""
    if not checkpoints.is_dir():
        return []
    matches = [re.fullmatch(r"checkpoint-(\d+)", path.name) for path in checkpoints.iterdir()]
    return sorted(int(match.group(1)) for match in matches if match)
