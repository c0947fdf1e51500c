"""How far a build has come, per stage and in all: read from its journal while it runs or after.

    status = read_status(BuildFolder(Path("builds/vce")), ("look", "select", ...))
    status.stages[0]
    -> StageStatus(stage="look", done=1960, rejected={}, failed={"undecodable": 12}, waiting=28)

What rests on an earlier configuration counts as waiting, until the run has come to it.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from data_prep.build.folder import BuildFolder
from data_prep.build.lock import is_held
from data_prep.build.schema import JournalError, explain, open_database


@dataclass(frozen=True, slots=True)
class StageStatus:
    """Numbers of videos. done: passed on. rejected, failed: here, by reason and by kind. waiting:
    may still get here.

    num_requests: made to models, in all runs, with num_failed_requests among them and num_cached
    replies beside them. prompt_tokens, completion_tokens: as far as servers counted. cost: as far
    as prices are known, None where none is. per_minute: records made in the latest run, None
    before the first.
    """

    stage: str
    done: int
    rejected: dict[str, int]
    failed: dict[str, int]
    waiting: int
    num_requests: int
    num_failed_requests: int
    num_cached: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    per_minute: float | None


@dataclass(frozen=True, slots=True)
class BuildStatus:
    """state: `running`, how the latest run ended, or `killed` where it did not say. process: of a
    running build. seconds: of the latest run. seconds_left: at its rate; None while that isn't
    known, and when nothing waits."""

    state: str
    process: int | None
    num_runs: int
    num_videos: int
    num_done: int
    num_rejected: int
    num_failed: int
    num_waiting: int
    cost: float | None
    seconds: float
    seconds_left: float | None
    stages: tuple[StageStatus, ...]


def read_status(folder: BuildFolder, stages: Sequence[str]) -> BuildStatus:
    """stages: their names in order. Raises JournalError; also where no run has begun."""
    is_running = is_held(folder.lock)
    with closing(open_database(folder.journal, read_only=True)) as connection:
        try:
            connection.execute("BEGIN")  # one moment for all that is read
            return _read(connection, folder, tuple(stages), is_running)
        except sqlite3.Error as error:
            raise JournalError(explain(folder.journal, error)) from error


def _read(
    connection: sqlite3.Connection, folder: BuildFolder, stages: tuple[str, ...], is_running: bool
) -> BuildStatus:
    latest = connection.execute(
        "SELECT run, base, pid, started_at, ended_at, ending FROM runs ORDER BY run DESC LIMIT 1"
    ).fetchone()
    if latest is None:
        raise JournalError(f"{folder.journal}: no run has begun; start one with dar build run")
    run, base, pid, started_at, ended_at, ending = latest
    last_seen = ended_at or (_now() if is_running else _last_sign(connection, run) or started_at)
    seconds = (_time(last_seen) - _time(started_at)).total_seconds()
    (num_videos,) = connection.execute(
        "SELECT count(*) FROM videos WHERE listed = ?", (run,)
    ).fetchone()
    standing = _Standing(connection, run, base)
    calls, made = _calls(connection), _made(connection, run)
    rows = tuple(
        _stage_status(number, name, num_videos, standing, calls.get(name), made[name], seconds)
        for number, name in enumerate(stages)
    )
    num_done, num_rejected, num_failed = map(standing.num, ("done", "rejected", "failed"))
    num_waiting = num_videos - num_done - num_rejected - num_failed
    costs = [row.cost for row in rows if row.cost is not None]
    return BuildStatus(
        state="running" if is_running else ending or "killed",
        process=pid if is_running else None,
        num_runs=run,
        num_videos=num_videos,
        num_done=num_done,
        num_rejected=num_rejected,
        num_failed=num_failed,
        num_waiting=num_waiting,
        cost=sum(costs) if costs else None,
        seconds=seconds,
        seconds_left=_seconds_left(num_waiting, standing.num_settled_now, seconds),
        stages=rows,
    )


class _Standing:
    """Videos of the latest run's listing by state, stage, kind and stages passed."""

    def __init__(self, connection: sqlite3.Connection, run: int, base: str) -> None:
        self._rows: list[tuple[str, str, str, int, int]] = connection.execute(
            _STANDING, (run, base)
        ).fetchall()
        (self.num_settled_now,) = connection.execute(_SETTLED_NOW, (run, run, base)).fetchone()

    def num(self, state: str) -> int:
        return sum(num for name, _, _, _, num in self._rows if name == state)

    def num_past(self, num_stages: int) -> int:
        return sum(num for _, _, _, passed, num in self._rows if passed >= num_stages)

    def num_ended_before(self, num_stages: int) -> int:
        """Rejected or failed in one of the first stages."""
        return sum(
            num
            for state, _, _, passed, num in self._rows
            if state in ("rejected", "failed") and passed < num_stages
        )

    def kinds(self, state: str, stage: str) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for name, where, kind, _, num in self._rows:
            if (name, where) == (state, stage):
                counts[kind] += num
        return dict(sorted(counts.items()))


def _stage_status(
    number: int,
    name: str,
    num_videos: int,
    standing: _Standing,
    calls: tuple[Any, ...] | None,
    num_made: int,
    seconds: float,
) -> StageStatus:
    done = standing.num_past(number + 1)
    requests, failed_requests, cached, prompt, completion, cost = calls or (0, 0, 0, 0, 0, None)
    return StageStatus(
        stage=name,
        done=done,
        rejected=standing.kinds("rejected", name),
        failed=standing.kinds("failed", name),
        waiting=num_videos - done - standing.num_ended_before(number + 1),
        num_requests=requests,
        num_failed_requests=failed_requests,
        num_cached=cached,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=cost,
        per_minute=60 * num_made / seconds if num_made and seconds > 0 else None,
    )


def _seconds_left(num_waiting: int, num_settled_now: int, seconds: float) -> float | None:
    if not (num_waiting and num_settled_now and seconds > 0):
        return None
    return num_waiting * seconds / num_settled_now


def _calls(connection: sqlite3.Connection) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(values) for name, *values in connection.execute(_CALLS)}


def _made(connection: sqlite3.Connection, run: int) -> Counter[str]:
    rows: Iterator[tuple[str, int]] = connection.execute(
        "SELECT stage, count(*) FROM records WHERE run = ? GROUP BY stage", (run,)
    )
    return Counter(dict(rows))


def _last_sign(connection: sqlite3.Connection, run: int) -> str | None:
    """When a run that was killed last wrote something."""
    signs = [
        connection.execute(sql, (run,)).fetchone()[0]
        for sql in (
            "SELECT max(made_at) FROM records WHERE run = ?",
            "SELECT max(failed_at) FROM failures WHERE run = ?",
            "SELECT max(called_at) FROM calls WHERE run = ?",
        )
    ]
    return max((sign for sign in signs if sign is not None), default=None)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


_STANDING = """
SELECT o.state, o.stage, o.kind, o.num_passed, count(*)
FROM videos v JOIN outcomes o ON o.video = v.id
WHERE v.listed = ? AND o.base = ?
GROUP BY o.state, o.stage, o.kind, o.num_passed
"""

_SETTLED_NOW = """
SELECT count(*) FROM videos v JOIN outcomes o ON o.video = v.id
WHERE v.listed = ? AND o.run = ? AND o.base = ? AND o.state != 'running'
"""

_CALLS = """
SELECT stage, sum(NOT from_cache), sum(NOT from_cache AND outcome != 'usable'), sum(from_cache),
    coalesce(sum(prompt_tokens) FILTER (WHERE NOT from_cache), 0),
    coalesce(sum(completion_tokens) FILTER (WHERE NOT from_cache), 0),
    sum(cost) FILTER (WHERE NOT from_cache)
FROM calls GROUP BY stage
"""
