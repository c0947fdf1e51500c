"""One judgement of several samples: the median of each dimension, if a majority of them came.

    one = judgement_of_samples("a", 0, [opinion, opinion, ModelFailure("refused", "gpt", "...")])
    one.state, one.num_samples        # 'judged', 2

Of 2 usable samples the median lies between them, so scores may be halves. With half of the samples
or fewer the segment is unscored: what so few would say is no median of what was asked for.
"""

from collections.abc import Sequence
from statistics import median

from affect.judge_dimensions import JUDGE_DIMENSIONS
from affect.llm.chat import ModelFailure
from evaluation.judge.judge import Opinion
from evaluation.judge.judgements import SegmentJudgement


def judgement_of_samples(
    clip_id: str, place: int, samples: Sequence[Opinion | ModelFailure]
) -> SegmentJudgement:
    """samples: in the order of their seeds, one or more."""
    opinions = [one for one in samples if isinstance(one, Opinion)]
    if 2 * len(opinions) <= len(samples):
        failure = next(one for one in samples if isinstance(one, ModelFailure))
        return unscored(
            clip_id,
            place,
            f"{len(opinions)} of {len(samples)} samples can be used; {failure}",
            num_samples=len(opinions),
        )
    overall = float(median(one.overall for one in opinions))
    nearest = min(opinions, key=lambda one: abs(one.overall - overall))
    return SegmentJudgement(
        id=clip_id,
        segment=place,
        state="judged",
        scores={
            name: float(median(one.scores[name] for one in opinions)) for name in JUDGE_DIMENSIONS
        },
        overall=overall,
        comment=nearest.comment,
        num_samples=len(opinions),
    )


def unscored(clip_id: str, place: int, why: str, num_samples: int = 0) -> SegmentJudgement:
    """A segment of which nothing is known; `why` says what went wrong."""
    return SegmentJudgement(
        id=clip_id,
        segment=place,
        state="unscored",
        scores=None,
        overall=None,
        why=why,
        num_samples=num_samples,
    )
