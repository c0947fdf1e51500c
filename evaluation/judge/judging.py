"""The loop over clips: show each to the judge, ask about its segments, hand on each judgement.

    judging = Judging(PAPER, clips.video, samples=1, max_tokens=1024)
    models = RoleModels({ROLE: "gpt"}, {"gpt": section}, before_each=judging.check)
    await judging.run(models, plan.work, output.write, num_clips_at_once=16)
    judging.ending            # 'finished', or why nothing more was asked

A clip is decoded once, for all its segments and samples, and only when it is its turn. A question
shows the whole clip, with its pictures' times where it goes as pictures, and then the prompt, which
names the segment's times: the judge of the paper is given video and interval, and what led up to a
segment is needed to judge it.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from affect.llm.chat import (
    LASTING_KINDS,
    SERVER_KINDS,
    BudgetSpentError,
    ModelFailure,
    Models,
    Question,
    VideoFile,
)
from affect.llm.told_pictures import shown
from affect.records import Row
from evaluation.judge.judge import Judge, Opinion
from evaluation.judge.judgements import SegmentJudgement
from evaluation.judge.plan import ClipWork
from evaluation.judge.samples import judgement_of_samples, unscored

ROLE = "judge"
Ending = Literal["finished", "budget_spent", "gave_up", "turned_away"]
"""turned_away: the server lets nobody in or does not know the model, and never replied."""


class JudgingEndedError(Exception):
    """Nothing more is asked in this run."""


class Judging:
    """Within one event loop.

    show: a row's clip, blocking; raises ValueError and OSError for one that can't be shown, which
    leaves its segments unscored. samples: per segment, with seeds 0, 1, ...
    max_failures_in_a_row: segments that fail one after the other for the server end the run.
    """

    def __init__(
        self,
        judge: Judge,
        show: Callable[[Row], VideoFile],
        *,
        samples: int,
        max_tokens: int,
        max_failures_in_a_row: int = 20,
        num_decodes_at_once: int = 2,
    ) -> None:
        self._judge, self._show = judge, show
        self._samples, self._max_tokens = samples, max_tokens
        self._max_failures_in_a_row = max_failures_in_a_row
        self._num_failed_in_a_row = 0
        self._has_replied = False
        self._decodes = asyncio.Semaphore(num_decodes_at_once)
        self.ending: Ending = "finished"
        self.reason = ""

    def check(self) -> None:
        """Raises JudgingEndedError once the run has ended: for `RoleModels.before_each`."""
        if self.ending != "finished":
            raise JudgingEndedError(self.reason)

    async def run(
        self,
        models: Models,
        work: Sequence[ClipWork],
        on_judged: Callable[[SegmentJudgement], None],
        *,
        num_clips_at_once: int,
    ) -> None:
        """Judge all of `work`, or until `ending` says otherwise. on_judged: called in the event
        loop for each segment once nothing more is to come of it; in no particular order."""
        waiting = iter(work)
        workers = [
            asyncio.ensure_future(self._work(models, waiting, on_judged))
            for _ in range(min(num_clips_at_once, len(work)))
        ]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _work(
        self,
        models: Models,
        waiting: Iterator[ClipWork],
        on_judged: Callable[[SegmentJudgement], None],
    ) -> None:
        for one in waiting:
            if self.ending != "finished":
                return
            await self._judge_clip(models, one, on_judged)

    async def _judge_clip(
        self, models: Models, work: ClipWork, on_judged: Callable[[SegmentJudgement], None]
    ) -> None:
        row = work.row
        try:
            async with self._decodes:
                video = await asyncio.to_thread(self._show, row)
        except (ValueError, OSError) as error:
            for place in work.asked:
                on_judged(unscored(row.id, place, f"the clip cannot be shown: {error}"))
            return

        async def judge_segment(place: int) -> None:
            judgement = await self._judge_segment(models, work, place, video)
            if judgement is not None:
                on_judged(judgement)

        await asyncio.gather(*(judge_segment(place) for place in work.asked))

    async def _judge_segment(
        self, models: Models, work: ClipWork, place: int, video: VideoFile
    ) -> SegmentJudgement | None:
        """None where the run ended before enough was known."""
        prompt = self._judge.prompt(work.segments, place, work.row.duration_seconds)
        parts = (*shown(video, "The clip"), prompt)
        outcomes = await asyncio.gather(
            *(
                self._sample(models, Question(self._judge.name, parts, self._max_tokens, seed))
                for seed in range(self._samples)
            )
        )
        samples = [one for one in outcomes if one is not None]
        if len(samples) < len(outcomes):
            return None
        self._note_server(samples)
        if self.ending == "turned_away":
            return None
        return judgement_of_samples(work.row.id, place, samples)

    async def _sample(self, models: Models, question: Question) -> Opinion | ModelFailure | None:
        try:
            answer = await models.ask(ROLE, question, self._judge.reply_type)
        except ModelFailure as failure:
            return failure
        except BudgetSpentError as error:
            self._end("budget_spent", str(error))
            return None
        except JudgingEndedError:
            return None
        return self._judge.opinion(answer.value)

    def _note_server(self, samples: Sequence[Opinion | ModelFailure]) -> None:
        failures = [one for one in samples if isinstance(one, ModelFailure)]
        of_server = [one for one in failures if one.kind in SERVER_KINDS]
        if len(of_server) < len(samples):
            self._num_failed_in_a_row = 0
            self._has_replied = True
            return
        if of_server[-1].kind in LASTING_KINDS and not self._has_replied:
            self._end("turned_away", str(of_server[-1]))
            return
        self._num_failed_in_a_row += 1
        if self._num_failed_in_a_row >= self._max_failures_in_a_row:
            self._end(
                "gave_up",
                f"{self._num_failed_in_a_row} segments in a row failed, the last with "
                f"{of_server[-1]}",
            )

    def _end(self, ending: Ending, reason: str) -> None:
        if self.ending == "finished":
            self.ending, self.reason = ending, reason
