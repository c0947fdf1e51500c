"""The best reply that can be given without looking: searched for, not guessed.

A constant reply is a number of segments, cuts at fractions of the duration (which the prompt
states) and one emotion per segment; its reasons are stock reasons. Whoever doesn't look can do
nothing better than one such reply per duration, so what the best of them earns bounds what a reward
pays for nothing.

    >>> constant = best_constant(clips, RewardSet.from_preset("hardened"))
    >>> constant.cuts, constant.emotions
    ((0.5,), ('Calmness', 'Fear'))

How the search works: for given cuts, the emotions are chosen exactly. Each segment's gain from each
emotion is measured by the rewards themselves, and a dynamic programme picks the emotions with the
highest sum in which neighbours differ. (Gains add up under both presets: what one segment's emotion
earns doesn't depend on the other emotions.) The cuts climb from several starts, one cut at a time,
in steps that get finer; first on 60 of the clips, then on up to 1,000.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from affect.parsing import ParsedReply
from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import Segment, Timeline
from rewards.audit_clip import AuditClip, cover, rarest_emotions
from rewards.presets import RewardSet
from rewards.stock_reasons import NUM_POSITIONS, stock_reason, stock_reasons

MAX_SEGMENTS = NUM_POSITIONS
NUM_COARSE_CLIPS = 60
_NUM_FINE_CLIPS = 1000  # a mean over more would not differ by .01, and costs minutes
_COARSE_STEPS = (0.1, 0.05)
_FINE_STEPS = (0.02,)
_REASON_WORDS = (20, 120)  # eq. 8 peaks at 120; where 20 words earn as much, they are read faster
_EDGE = 0.02  # no cut is nearer to either end, or to another cut
# Stock reasons of six segments stay far below the 1,200 tokens from which length is charged.
NUM_TOKENS = 600

Gains = list[defaultdict[str, float]]
"""For each position what each emotion adds to the sum of totals; 0.0 for all others."""


@dataclass(frozen=True, slots=True)
class ConstantReply:
    """One reply to all clips: cuts as fractions of the duration, an emotion for each segment."""

    cuts: tuple[float, ...]
    emotions: tuple[str, ...]
    reason_words: int

    def segments(self, duration_seconds: float) -> list[Segment]:
        """The reply to a clip of so many seconds."""
        return cover(
            duration_seconds,
            self.cuts,
            self.emotions,
            stock_reasons(self.emotions, self.reason_words),
        )


def best_constant(clips: Sequence[AuditClip], rewards: RewardSet) -> ConstantReply:
    """The constant reply that earns most on these clips.

    Numbers of segments are tried upwards from one, until two in a row earn less than the best; the
    cuts of the best two numbers are then refined.
    """
    search = _Search(clips, rewards)
    found: list[tuple[float, ...]] = []
    for num_segments in range(1, MAX_SEGMENTS + 1):
        found.append(search.climb(num_segments))
        if len(found) >= 3 and max(map(search.value_on_all, found[-2:])) < max(
            map(search.value_on_all, found[:-2])
        ):
            break
    found.sort(key=search.value_on_all, reverse=True)
    refined = [search.refine(cuts) for cuts in found[:2]]
    best = max(refined, key=search.value_on_all)
    return ConstantReply(best, search.value(best, search.all)[1], search.reason_words)


class _Search:
    """Values of cuts on a set of clips; each cut list is valued once."""

    def __init__(self, clips: Sequence[AuditClip], rewards: RewardSet) -> None:
        self.rewards = rewards
        self.all = some_of(clips, _NUM_FINE_CLIPS)
        self.some = some_of(clips, NUM_COARSE_CLIPS)
        self.reason_words = best_reason_words(self.some, rewards)
        self._known: dict[tuple[int, tuple[float, ...]], tuple[float, tuple[str, ...]]] = {}

    def climb(self, num_segments: int) -> tuple[float, ...]:
        """Good cuts for a number of segments, found on some of the clips."""
        return max(
            (
                self._improve(start, _COARSE_STEPS, self.some)
                for start in _starts(self.some, num_segments)
            ),
            key=lambda cuts: self.value(cuts, self.some)[0],
        )

    def refine(self, cuts: tuple[float, ...]) -> tuple[float, ...]:
        """The same cuts improved on all clips (of many: 1,000)."""
        return self._improve(cuts, _FINE_STEPS, self.all)

    def value_on_all(self, cuts: tuple[float, ...]) -> float:
        """Mean total over all clips, with the best emotions for these cuts."""
        return self.value(cuts, self.all)[0]

    def value(
        self, cuts: tuple[float, ...], clips: list[AuditClip]
    ) -> tuple[float, tuple[str, ...]]:
        """Mean total over the clips with the best emotions for these cuts, and those emotions."""
        key = (len(clips), cuts)
        if key not in self._known:
            base, gains = self._measure(cuts, clips)
            gain, emotions = _best_emotions(gains)
            self._known[key] = ((base + gain) / len(clips), emotions)
        return self._known[key]

    def _improve(
        self, cuts: tuple[float, ...], steps: Sequence[float], clips: list[AuditClip]
    ) -> tuple[float, ...]:
        for step in steps:
            gained = True
            while gained:
                gained = False
                for index in range(len(cuts)):
                    for move in (-step, step):
                        moved = _moved(cuts, index, move)
                        if moved and self.value(moved, clips)[0] > self.value(cuts, clips)[0]:
                            cuts, gained = moved, True
        return cuts

    def _measure(self, cuts: tuple[float, ...], clips: list[AuditClip]) -> tuple[float, Gains]:
        """What the cuts earn with emotions that are wrong everywhere, and what right ones add."""
        gains: Gains = [defaultdict(float) for _ in range(len(cuts) + 1)]
        base = 0.0
        for clip in clips:
            wrong = rarest_emotions(clip.truth) * len(gains)
            segments = self._segments(clip, cuts, wrong)
            without = _total(clip, segments, self.rewards)
            base += without
            for position, segment in enumerate(segments):
                # Where no segment of that emotion is near, no reward can pay for it.
                for emotion in {
                    true.emotion for true in clip.truth.segments if _overlap(segment, true)
                }:
                    emotions = [*wrong[:position], emotion, *wrong[position + 1 :]]
                    tried = self._segments(clip, cuts, emotions)
                    gains[position][emotion] += _total(clip, tried, self.rewards) - without
        return base, gains

    def _segments(
        self, clip: AuditClip, cuts: tuple[float, ...], emotions: Sequence[str]
    ) -> list[Segment]:
        reasons = stock_reasons(emotions[: len(cuts) + 1], self.reason_words)
        return cover(clip.duration_seconds, cuts, emotions, reasons)


def _best_emotions(gains: Gains) -> tuple[float, tuple[str, ...]]:
    """The highest sum of one gain per position, neighbours differing, and its emotions."""
    known = sorted({emotion for gain in gains for emotion in gain})
    emotions = known if len(known) > 1 else [*known, *DAR_EMOTIONS[:2]]
    best: dict[str, tuple[float, tuple[str, ...]]] = {
        emotion: (gains[0][emotion], (emotion,)) for emotion in emotions
    }
    for gain in gains[1:]:
        best = {
            emotion: max(
                (value + gain[emotion], (*chosen, emotion))
                for last, (value, chosen) in best.items()
                if last != emotion
            )
            for emotion in emotions
        }
    return max(best.values())


def _overlap(first: Segment, second: Segment) -> bool:
    return first.start_seconds < second.end_seconds and second.start_seconds < first.end_seconds


def _starts(clips: Sequence[AuditClip], num_segments: int) -> list[tuple[float, ...]]:
    """Even cuts, and the mean cuts of the clips that have so many segments."""
    starts = [tuple(round(cut / num_segments, 2) for cut in range(1, num_segments))]
    alike = [clip.truth for clip in clips if len(clip.truth.segments) == num_segments]
    if alike and num_segments > 1:
        fractions = [
            [segment.end_seconds / truth.duration_seconds for segment in truth.segments[:-1]]
            for truth in alike
        ]
        mean = tuple(round(sum(cuts) / len(cuts), 2) for cuts in zip(*fractions, strict=True))
        if _is_in_order(mean):
            starts.append(mean)
    return starts


def _moved(cuts: tuple[float, ...], index: int, move: float) -> tuple[float, ...] | None:
    moved = (*cuts[:index], round(cuts[index] + move, 2), *cuts[index + 1 :])
    return moved if _is_in_order(moved) else None


def _is_in_order(cuts: Sequence[float]) -> bool:
    return all(right - left > _EDGE for left, right in pairwise((0.0, *cuts, 1.0)))


def _total(clip: AuditClip, segments: Sequence[Segment], rewards: RewardSet) -> float:
    """What segments earn that are known to be a timeline, without writing and parsing them."""
    timeline = Timeline(tuple(segments), clip.duration_seconds, clip.truth.tolerance_seconds)
    parsed = ParsedReply(timeline.segments, timeline, (), clip.duration_seconds, NUM_TOKENS, "")
    return rewards.score(parsed, clip.truth, clip.prompt_text).total


def best_reason_words(clips: Sequence[AuditClip], rewards: RewardSet) -> int:
    """The length of stock reasons that earns most where the segments are right."""

    def value_of(num_words: int) -> float:
        total = 0.0
        for clip in clips:
            segments = [
                Segment(
                    segment.start_seconds,
                    segment.end_seconds,
                    segment.emotion,
                    stock_reason(segment.emotion, position, num_words),
                )
                for position, segment in enumerate(clip.truth.segments)
            ]
            total += _total(clip, segments, rewards)
        return round(total / len(clips), 6)

    return max(_REASON_WORDS, key=value_of)


def some_of(clips: Sequence[AuditClip], num: int) -> list[AuditClip]:
    """At most `num` of the clips, evenly from first to last."""
    step = max(1, -(-len(clips) // num))
    return list(clips[::step])
