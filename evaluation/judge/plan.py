"""What is to be judged of a run's replies: the gate before any call.

plan = plan_judging(HARDENED, truths, clips)
plan.gated                  # judgements that need nobody: blank reasons, replies without timeline
plan.work[0].asked          # (0, 2): the places of the segments that the judge is asked about
plan.num_unparsed, plan.num_missing
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from affect.judge_dimensions import JUDGE_DIMENSIONS
from affect.records import Row
from affect.timeline import Segment
from evaluation.clips import Truth
from evaluation.judge.judge import Judge
from evaluation.judge.judgements import SegmentJudgement
from evaluation.metrics import Clip

Key = tuple[str, int | None]
"""Which judgement: the clip's id and the segment's place, None for the clip as a whole."""

_MAX_FAULTS_TOLD = 3


@dataclass(frozen=True, slots=True)
class ClipWork:
    """A clip that the judge is shown. segments: all that it reads of the reply, as context; asked:
    the places of those in question."""

    row: Row
    segments: Sequence[Segment]
    asked: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """keys: of all judgements that there will be, in the order of the rows."""

    keys: tuple[Key, ...]
    gated: tuple[SegmentJudgement, ...]
    work: tuple[ClipWork, ...]
    num_unparsed: int
    num_missing: int

    @property
    def num_asked(self) -> int:
        """Segments that the judge is asked about."""
        return sum(len(one.asked) for one in self.work)

    def without(self, done: set[Key]) -> "Plan":
        """What is left to do. `keys` and both counts stay: they are of all."""
        work = [
            replace(one, asked=tuple(at for at in one.asked if (one.row.id, at) not in done))
            for one in self.work
        ]
        return replace(
            self,
            gated=tuple(one for one in self.gated if (one.id, one.segment) not in done),
            work=tuple(one for one in work if one.asked),
        )


def plan_judging(judge: Judge, truths: Sequence[Truth], clips: Sequence[Clip]) -> Plan:
    """truths, clips: of the same rows in the same order (`load_clips`)."""
    keys: list[Key] = []
    gated: list[SegmentJudgement] = []
    work: list[ClipWork] = []
    num_unparsed = num_missing = 0
    for truth, clip in zip(truths, clips, strict=True):
        segments = judge.segments(clip)
        if not segments:
            num_missing += clip.reply is None
            num_unparsed += clip.reply is not None
            keys.append((clip.id, None))
            gated.append(_gated_clip(judge, clip))
            continue
        asked: list[int] = []
        for place, segment in enumerate(segments):
            keys.append((clip.id, place))
            why = judge.why_worth_nothing(segment)
            if why is None:
                asked.append(place)
            else:
                gated.append(_gated(clip.id, place, why))
        if asked:
            work.append(ClipWork(truth.row, segments, tuple(asked)))
    return Plan(tuple(keys), tuple(gated), tuple(work), num_unparsed, num_missing)


def _gated_clip(judge: Judge, clip: Clip) -> SegmentJudgement:
    if clip.reply is None:
        why = "missing: there is no reply"
    else:
        faults = clip.reply.faults
        told = "; ".join(faults[:_MAX_FAULTS_TOLD])
        more = len(faults) - _MAX_FAULTS_TOLD
        why = f"no {judge.reads}: {told}" + (f"; and {more} more" if more > 0 else "")
    return _gated(clip.id, None, why, weight=len(clip.truth.segments))


def _gated(clip_id: str, place: int | None, why: str, weight: int = 1) -> SegmentJudgement:
    return SegmentJudgement(
        id=clip_id,
        segment=place,
        state="gated",
        scores=dict.fromkeys(JUDGE_DIMENSIONS, 0.0),
        overall=0.0,
        why=why,
        weight=weight,
    )
