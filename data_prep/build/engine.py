"""The loop over all videos: a bounded number under way, each brought to its outcome.

    summary = await run_all(work, journal, shop.run, stop, on_outcome)
    -> Summary(ending="finished", num_videos=2000, num_known=1990, counts={...})

Requests overlap, decodes run in their own processes, and neither the list of videos nor any record
is kept in memory. An unchanged finished video is one look-up. Trying a failure again is left to the
next run. Where the stages of one video are run is the caller's: here, or on a cluster.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from affect.llm.chat import SERVER_KINDS, BudgetSpentError
from affect.video import VideoError
from affect.video.content_hash import ContentHashes
from data_prep.build.journal import FileState, Journal
from data_prep.build.outcome import Outcome
from data_prep.build.plan import Plan
from data_prep.build.run_video import BuildBrokenError, BuildVideo, RunStoppedError
from data_prep.build.stop import Ending, Stop
from data_prep.records import Candidates, Video

OnOutcome = Callable[[str, Outcome, bool], None]
"""Told a video's id, what became of it, and whether that was known before this run."""

RunVideo = Callable[[BuildVideo], Awaitable[Outcome]]
"""As `data_prep.build.run_video.run_video`, wherever it is done."""


@dataclass(frozen=True)
class Work:
    """root: of the videos. candidates_of: a video's id -> its candidates. videos_at_once: the
    bound on what is under way. max_failures_in_a_row: of `SERVER_KINDS`, until the run gives up."""

    plan: Plan
    root: Path
    candidates_of: Callable[[str], Candidates]
    videos_at_once: int
    max_failures_in_a_row: int


@dataclass(slots=True)
class Summary:
    """num_videos: found. num_known: finished before and unchanged since. counts: by state, stage
    and kind, of all that came out."""

    ending: Ending
    num_videos: int
    num_known: int = 0
    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def num(self, state: str) -> int:
        return sum(count for (name, _, _), count in self.counts.items() if name == state)


async def run_all(
    work: Work, journal: Journal, run_video: RunVideo, stop: Stop, on_outcome: OnOutcome
) -> Summary:
    """Bring every listed video to its outcome, or stop on the way.

    The journal's run has begun. Raises BuildBrokenError when the build itself can't go on.
    """
    summary = Summary("finished", journal.num_listed())
    loop = _Loop(work, journal, run_video, stop, on_outcome, summary)
    files = journal.listed_files()
    num_workers = min(work.videos_at_once, max(1, summary.num_videos))
    try:
        async with asyncio.TaskGroup() as group:
            stop.ends([group.create_task(loop.work(files)) for _ in range(num_workers)])
    except* BuildBrokenError as errors:
        # One full disk stops many videos at once: one word about it is enough.
        raise _first(errors) from errors
    summary.ending = stop.ending or "finished"
    return summary


class _Loop:
    def __init__(
        self,
        work: Work,
        journal: Journal,
        run_video: RunVideo,
        stop: Stop,
        on_outcome: OnOutcome,
        summary: Summary,
    ) -> None:
        self._work = work
        self._journal = journal
        self._run_video = run_video
        self._stop = stop
        self._on_outcome = on_outcome
        self._summary = summary
        self._asking = {stage.name for stage in work.plan.stages if stage.roles}
        self._num_failing = 0

    async def work(self, files: Iterator[FileState]) -> None:
        """Take one video after the other until there is none, or the run is to stop."""
        while not self._stop.is_set():
            file = next(files, None)
            if file is None:
                return
            try:
                await self._settle(file)
            except BudgetSpentError as error:
                self._stop.spend(str(error))
            except RunStoppedError:
                return
            await asyncio.sleep(0)  # known videos await nothing, and Ctrl-C must be heard

    async def _settle(self, file: FileState) -> None:
        plan, path = self._work.plan, self._work.root / file.path
        sha256 = file.sha256
        if sha256 is None:
            try:
                sha256 = await asyncio.to_thread(_sha256, path)
            except VideoError as error:
                first = plan.stages[0].name
                outcome = Outcome("failed", first, 0, "unreadable", error.reason)
                await self._came_out(file.id, "", outcome)
                return
            await self._journal.set_sha256(file, sha256)
        candidates = self._work.candidates_of(file.id)
        digest = plan.digest_of(sha256, candidates)
        known = self._journal.outcome_of(file.id, digest)
        if known is not None:
            outcome, base = known
            if base != plan.base:
                await self._journal.confirm_outcome(file.id, plan.base)
            self._count(file.id, outcome, is_known=True)
            return
        item = BuildVideo(Video(id=file.id, sha256=sha256), path, candidates)
        await self._came_out(file.id, digest, await self._run_video(item))

    async def _came_out(self, video: str, digest: str, outcome: Outcome) -> None:
        await self._journal.set_outcome(video, self._work.plan.base, digest, outcome)
        self._note_server(outcome)
        self._count(video, outcome, is_known=False)

    def _note_server(self, outcome: Outcome) -> None:
        """A server that is gone would fail one video after the other, all weekend."""
        if outcome.state == "failed" and outcome.kind in SERVER_KINDS:
            self._num_failing += 1
        elif outcome.state == "done" or outcome.stage in self._asking:
            self._num_failing = 0
        if self._num_failing >= self._work.max_failures_in_a_row:
            self._stop.give_up(
                f"{self._num_failing} videos in a row failed for a server, the last one in "
                f"{outcome.stage}: {outcome.kind}: {outcome.detail}"
            )

    def _count(self, video: str, outcome: Outcome, is_known: bool) -> None:
        self._summary.counts[outcome.state, outcome.stage, outcome.kind] += 1
        self._summary.num_known += is_known
        self._on_outcome(video, outcome, is_known)


def _sha256(path: Path) -> str:
    # The journal keeps them; an object that did so too would grow with the videos.
    return ContentHashes().get(path)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
