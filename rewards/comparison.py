"""A parsed reply beside its true timeline: what the terms are functions of.

Example: `emotion.paper(Comparison(parse_reply(text, 9.0, num_tokens=310), truth))`

What several terms need (the one-to-one pairing, the reasons' words) is computed when the first of
them asks and kept here, so that each term can stay a pure function of one argument.
"""

from functools import cached_property
from typing import NamedTuple

from affect.matching import interval_iou, match_one_to_one
from affect.parsing import ParsedReply
from affect.timeline import Segment, Timeline
from rewards.words import DistinctWords, distinct_words, split_words


class Pair(NamedTuple):
    """Positions of a predicted and a true segment, and their temporal IoU in (0, 1]."""

    predicted: int
    true: int
    iou: float


class Comparison:
    """One reply, one truth, and the prompt's text where the caller has it.

    The prompt serves only to recognise reasons copied from it; without it none is recognised.
    """

    def __init__(self, reply: ParsedReply, truth: Timeline, prompt_text: str = "") -> None:
        self.reply = reply
        self.truth = truth
        self.prompt_text = prompt_text

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Order-preserving one-to-one pairs that overlap; none for what fails the strict parse."""
        if self.reply.timeline is None:
            return ()
        predicted, true = self.reply.timeline.segments, self.truth.segments
        return tuple(
            [
                Pair(i, j, segment_iou(predicted[i], true[j]))
                for i, j in match_one_to_one(predicted, true)
            ]
        )

    @cached_property
    def words(self) -> tuple[list[str], ...]:
        """The words of each predicted reason, in the reply's order."""
        return tuple(split_words(segment.reason) for segment in self.reply.segments)

    @cached_property
    def distinct_words(self) -> tuple[DistinctWords, ...]:
        """The distinct words of each predicted reason, in the reply's order."""
        return tuple(map(distinct_words, self.words))

    @property
    def num_slots(self) -> int:
        """max(#predicted, #true): the divisor that makes a surplus and a lack cost the same."""
        return max(len(self.reply.segments), len(self.truth.segments))


def segment_iou(predicted: Segment, true: Segment) -> float:
    """Temporal IoU of two segments, in [0, 1]."""
    return interval_iou(
        predicted.start_seconds, predicted.end_seconds, true.start_seconds, true.end_seconds
    )
