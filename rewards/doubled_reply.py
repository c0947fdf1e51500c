"""The best segment to repeat: no timeline, but some rewards pay it as if it were one.

Where a reward averages over the predicted segments and lets several meet the same truth, the
segment that is most often right, written several times over, earns what a whole timeline would.

    >>> best_doubled(clips, RewardSet.from_preset("paper"))
    DoubledReply(start=0.0, end=0.5, emotion='Confusion', num_times=2, reason_words=120)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from affect.parsing import ParsedReply
from affect.timeline import Segment
from rewards.audit_clip import AuditClip
from rewards.constant_reply import NUM_COARSE_CLIPS, NUM_TOKENS, best_reason_words, some_of
from rewards.presets import RewardSet
from rewards.stock_reasons import NUM_POSITIONS, stock_reasons

MAX_TIMES = NUM_POSITIONS


@dataclass(frozen=True, slots=True)
class DoubledReply:
    """One segment, from and to a fraction of the duration, written `num_times` over."""

    start: float
    end: float
    emotion: str
    num_times: int
    reason_words: int

    def segments(self, duration_seconds: float) -> list[Segment]:
        """The reply to a clip of so many seconds; reasons differ from one copy to the next."""
        start, end = round(self.start * duration_seconds, 1), round(self.end * duration_seconds, 1)
        reasons = stock_reasons((self.emotion,) * self.num_times, self.reason_words)
        return [Segment(start, end, self.emotion, reason) for reason in reasons]


def best_doubled(clips: Sequence[AuditClip], rewards: RewardSet) -> DoubledReply:
    """The segment, and how often to write it, that earns most; found on some of the clips.

    Span, emotion and number are chosen in turn until none of them changes any more.
    """
    some = some_of(clips, NUM_COARSE_CLIPS)
    tenths = [tenth / 10 for tenth in range(11)]
    spans = [(start, end) for start in tenths for end in tenths if end > start]
    emotions = sorted({segment.emotion for clip in some for segment in clip.truth.segments})

    def value_of(reply: DoubledReply) -> float:
        return _mean_total(some, rewards, reply.segments)

    best = DoubledReply(0.0, 1.0, emotions[0], 2, best_reason_words(some, rewards))
    before = None
    while best != before:
        before = best
        best = max([best, *(replace(best, emotion=emotion) for emotion in emotions)], key=value_of)
        spanned = (replace(best, start=start, end=end) for start, end in spans)
        best = max([best, *spanned], key=value_of)
        numbered = (replace(best, num_times=num) for num in range(2, MAX_TIMES + 1))
        best = max([best, *numbered], key=value_of)
    return best


def _mean_total(
    clips: Sequence[AuditClip], rewards: RewardSet, reply: Callable[[float], list[Segment]]
) -> float:
    """What a reply earns that is no timeline, on the mean over the clips."""
    total = 0.0
    for clip in clips:
        segments = tuple(reply(clip.duration_seconds))
        parsed = ParsedReply(
            segments, None, ("overlap: doubled",), clip.duration_seconds, NUM_TOKENS, ""
        )
        total += rewards.score(parsed, clip.truth, clip.prompt_text).total
    return total / len(clips)
