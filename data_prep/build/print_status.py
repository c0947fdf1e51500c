"""How far a build has come: a line per stage, a line for all; also while it runs.

    dar build status builds/vce
    dar build status builds/vce --json

done: passed on to the next stage; waiting: may still get there. Costs and tokens are of all runs,
rates of the latest one. Exit code 2 where there is no build.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from data_prep.build.config import BuildConfig
from data_prep.build.folder import BuildFolder
from data_prep.build.looked_on import look_on
from data_prep.build.status import BuildStatus, StageStatus, read_status
from data_prep.stages import stages_for


def main(argv: Sequence[str] | None = None) -> int:
    """`dar build status` with these arguments."""
    return look_on("dar build status", __doc__, argv, read=_read, as_json=_as_json, show=_show)


def _read(folder: BuildFolder, config: BuildConfig) -> BuildStatus:
    return read_status(folder, [stage.name for stage in stages_for(config.annotator)])


def _as_json(status: BuildStatus) -> str:
    return json.dumps(asdict(status), indent=2, allow_nan=False)


def _show(console: Console, status: BuildStatus) -> None:
    console.print(status_table(status))
    console.print(escape(status_line(status)))


def status_table(status: BuildStatus) -> Table:
    """A row per stage."""
    table = Table(title=f"{status.num_videos} videos, run {status.num_runs}: {status.state}")
    for column in ("stage", "done", "rejected", "failed", "waiting"):
        table.add_column(column, justify="left" if column == "stage" else "right")
    for column in ("requests", "faults", "cached", "tokens in", "out", "cost", "per minute"):
        table.add_column(column, justify="right")
    for row in status.stages:
        table.add_row(*_cells(row))
    return table


def status_line(status: BuildStatus) -> str:
    """Totals, and the time left."""
    parts = [
        f"{status.num_done} done, {status.num_rejected} rejected, {status.num_failed} failed, "
        f"{status.num_waiting} waiting",
        *([f"cost {_cost(status.cost)}"] if _asks(status) else []),
        f"{_duration(status.seconds)} so far" if status.process else _duration(status.seconds),
    ]
    if status.seconds_left is not None:
        parts.append(f"{_duration(status.seconds_left)} left at this rate")
    if status.process is not None:
        parts.append(f"process {status.process}")
    return "; ".join(parts)


def _asks(status: BuildStatus) -> bool:
    return any(row.num_requests or row.num_cached for row in status.stages)


def _cells(row: StageStatus) -> list[str]:
    asks = row.num_requests or row.num_cached
    numbers = (
        row.num_requests, row.num_failed_requests, row.num_cached, row.prompt_tokens,
        row.completion_tokens,
    )  # fmt: skip
    return [
        row.stage,
        str(row.done),
        _reasons(row.rejected),
        _reasons(row.failed),
        str(row.waiting),
        *(str(number) if asks else "" for number in numbers),
        _cost(row.cost) if asks else "",
        "" if row.per_minute is None else f"{row.per_minute:.1f}",
    ]


def _reasons(counts: Mapping[str, int]) -> str:
    return "\n".join(f"{num} {escape(kind)}" for kind, num in counts.items())


def _cost(cost: float | None) -> str:
    return "unknown" if cost is None else f"{cost:.2f}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
