"""What a judge is: which segments it reads, what it asks of one, and how its reply is understood.

    judge = PAPER                                        # evaluation.judge.paper
    segments = judge.segments(clip)
    judge.why_worth_nothing(segments[0])                 # None: worth asking about
    judge.prompt(segments, 0, clip.duration_seconds)     # the text; the clip is shown beside it
    judge.opinion(reply).scores["causal_logic"]          # 3

There are two, and their numbers never meet in one column.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field

from affect.judge_dimensions import JUDGE_DIMENSIONS, MAX_SCORE, MIN_SCORE
from affect.timeline import Segment
from evaluation.metrics import Clip

Score = Annotated[int, Field(ge=MIN_SCORE, le=MAX_SCORE)]
"""A whole number: a reply that says 4.5, "4" or 7 cannot be used."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """One usable reply. scores: by JUDGE_DIMENSIONS. overall: the judge's own total. All 0 to 5."""

    scores: Mapping[str, int]
    overall: int
    comment: str


@dataclass(frozen=True, slots=True)
class Judge:
    """name: of JUDGES. prompt_hash: of all that decides what is asked and what is gated.

    segments: what the judge reads of a reply, () where it reads nothing: such a clip weighs in with
    zeros, one per true segment. reads: what there must be for it, in words.
    why_worth_nothing: why a segment scores 0 without a call, None where it is to be asked about.
    prompt: (segments, place of the one in question, the clip's seconds) -> the text.
    """

    name: str
    prompt_hash: str
    reply_type: type[BaseModel]
    reads: str
    segments: Callable[[Clip], Sequence[Segment]]
    why_worth_nothing: Callable[[Segment], str | None]
    prompt: Callable[[Sequence[Segment], int, float], str]
    comment_key: str

    def opinion(self, reply: BaseModel) -> Opinion:
        """Of a reply of `reply_type`."""
        said: dict[str, Any] = reply.model_dump()
        return Opinion(
            scores={name: said[name] for name in JUDGE_DIMENSIONS},
            overall=said["score"],
            comment=said[self.comment_key],
        )
