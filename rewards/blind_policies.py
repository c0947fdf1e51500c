"""Policies that never look at the video: what form, habit and knowledge of the data alone earn.

All know the clip's duration, which the prompt states, and the truths of the clips that they are
fitted to. Where these are the clips on which they are then scored, what they earn is an upper bound
for such a policy.

    >>> policies = blind_policies(fit=clips, rewards=RewardSet.from_preset("hardened"))
    >>> [policy.name for policy in policies][:3]
    ['empty', 'no_answer', 'one_segment_commonest_label']
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence

from affect.timeline import MAX_SEGMENTS, Segment, segments_to_json
from rewards.audit_clip import AuditClip, Policy, cover
from rewards.constant_reply import ConstantReply, best_constant
from rewards.doubled_reply import DoubledReply, best_doubled
from rewards.presets import RewardSet
from rewards.stock_reasons import stock_reasons

_REASON_WORDS = 120  # in the flat range of hardened, and where equation 8 peaks
_MAX_UNIFORM_SEGMENTS = 5
_TINY_SECONDS = 0.5
_NUM_DURATION_BINS = 3
_MIN_CLIPS_PER_BIN = 20


def blind_policies(fit: Sequence[AuditClip], rewards: RewardSet) -> list[Policy]:
    """All of them, with their constants fitted to `fit` under these rewards."""
    prior = _Prior(fit)
    constant, doubled = best_constant(fit, rewards), best_doubled(fit, rewards)
    bins = _fit_bins(fit, rewards)
    return [
        Policy("empty", False, "no text at all", lambda clip: ""),
        Policy("no_answer", False, "a sentence in place of JSON", lambda clip: _NO_ANSWER),
        Policy(
            "one_segment_commonest_label",
            False,
            "one segment over the clip, with the commonest label",
            _uniform(prior, 1),
        ),
        *(
            Policy(
                f"uniform_{num}_commonest_labels",
                False,
                f"{num} segments of one length, each with the commonest label of its position",
                _uniform(prior, num),
            )
            for num in range(2, _MAX_UNIFORM_SEGMENTS + 1)
        ),
        Policy("tiny_segments", False, "a segment every half second", _tiny(prior)),
        Policy(
            "random_from_prior", False, "count, cuts and labels drawn as they occur", prior.draw
        ),
        Policy(
            "another_clips_truth",
            False,
            "the true answer to another clip, stretched to this one's duration",
            prior.another_truth,
        ),
        Policy(
            "best_constant",
            False,
            f"the best constant reply found: {_say(constant)}",
            _constant(constant),
        ),
        Policy(
            "best_per_duration",
            False,
            "the best by duration, from short to long clips: "
            + "; ".join(_say(reply) for _, reply in bins),
            lambda clip: _constant(_of_bin(bins, clip.duration_seconds))(clip),
        ),
        Policy(
            "best_doubled_segment",
            False,
            f"the best segment to repeat: {_say(doubled)}",
            _constant(doubled),
        ),
    ]


_NO_ANSWER = "I cannot view videos, but the viewer probably feels interest and then joy."


class _Prior:
    """What the clips that a policy is fitted to look like on the whole."""

    def __init__(self, clips: Sequence[AuditClip]) -> None:
        self.clips = list(clips)
        self.labels = Counter(s.emotion for clip in clips for s in clip.truth.segments)

    def commonest(self, num_segments: int) -> list[str]:
        """For each of so many positions the label that is commonest there, neighbours differing.

        What counts at a position are the true segments whose middle falls into that part of
        their clip.
        """
        chosen: list[str] = []
        for position in range(num_segments):
            there = Counter(
                segment.emotion
                for clip in self.clips
                for segment in clip.truth.segments
                if position
                <= num_segments * _middle(segment) / clip.duration_seconds
                < position + 1
            )
            ranked = [*(label for label, _ in there.most_common()), *self.ranked()]
            chosen.append(next(label for label in ranked if chosen[-1:] != [label]))
        return chosen

    def ranked(self) -> list[str]:
        """All labels, the commonest first; at least two."""
        ranked = [label for label, _ in self.labels.most_common()]
        return ranked if len(ranked) > 1 else [*ranked, "Interest", "Joy"]

    def draw(self, clip: AuditClip) -> str:
        """A random reply to a clip, the same at every call."""
        rng = random.Random(f"audit, {clip.id}")
        num_segments = len(rng.choice(self.clips).truth.segments)
        labels: list[str] = []
        weights = {label: float(self.labels[label]) or 1.0 for label in self.ranked()}
        while len(labels) < num_segments:
            (label,) = rng.choices(list(weights), weights=list(weights.values()))
            if labels[-1:] != [label]:
                labels.append(label)
        cuts = [rng.random() for _ in labels[1:]]
        return _covering(clip, cuts, labels)

    def another_truth(self, clip: AuditClip) -> str:
        """The truth of some other clip, its times as fractions of the duration."""
        rng = random.Random(f"audit, not {clip.id}")
        others = [other for other in self.clips if other.id != clip.id]
        truth = rng.choice(others or self.clips).truth
        cuts = [segment.end_seconds / truth.duration_seconds for segment in truth.segments[:-1]]
        emotions = [segment.emotion for segment in truth.segments]
        reasons = [segment.reason for segment in truth.segments]
        return segments_to_json(cover(clip.duration_seconds, cuts, emotions, reasons))


def _middle(segment: Segment) -> float:
    return (segment.start_seconds + segment.end_seconds) / 2


def _covering(clip: AuditClip, cuts: Sequence[float], emotions: Sequence[str]) -> str:
    reasons = stock_reasons(emotions, _REASON_WORDS)
    return segments_to_json(cover(clip.duration_seconds, cuts, emotions, reasons))


def _uniform(prior: _Prior, num_segments: int) -> Callable[[AuditClip], str]:
    cuts = [cut / num_segments for cut in range(1, num_segments)]
    emotions = prior.commonest(num_segments)
    return lambda clip: _covering(clip, cuts, emotions)


def _tiny(prior: _Prior) -> Callable[[AuditClip], str]:
    first, second = prior.ranked()[:2]

    def answer(clip: AuditClip) -> str:
        num_segments = max(1, min(MAX_SEGMENTS, int(clip.duration_seconds / _TINY_SECONDS)))
        cuts = [cut / num_segments for cut in range(1, num_segments)]
        return _covering(clip, cuts, [first, second] * num_segments)

    return answer


def _constant(reply: ConstantReply | DoubledReply) -> Callable[[AuditClip], str]:
    return lambda clip: segments_to_json(reply.segments(clip.duration_seconds))


Bins = list[tuple[float, ConstantReply]]


def _fit_bins(clips: Sequence[AuditClip], rewards: RewardSet) -> Bins:
    """The longest duration of each bin, and its best reply; bins hold about equally many clips."""
    durations = sorted(clip.duration_seconds for clip in clips)
    # A reply fitted to a handful of clips would be those clips' own truth.
    num_bins = max(1, min(_NUM_DURATION_BINS, len(clips) // _MIN_CLIPS_PER_BIN))
    bounds = {
        durations[(number + 1) * len(durations) // num_bins - 1] for number in range(num_bins)
    }
    bins: Bins = []
    shortest = 0.0
    for longest in sorted(bounds):
        inside = [clip for clip in clips if shortest < clip.duration_seconds <= longest]
        bins.append((longest, best_constant(inside, rewards)))
        shortest = longest
    return bins


def _of_bin(bins: Bins, duration_seconds: float) -> ConstantReply:
    for longest, reply in bins:
        if duration_seconds <= longest:
            return reply
    return bins[-1][1]


def _say(reply: ConstantReply | DoubledReply) -> str:
    """A reply in a few words; numbers are fractions of the duration."""
    if isinstance(reply, DoubledReply):
        return f"{reply.emotion} from {reply.start:g} to {reply.end:g}, {reply.num_times} times"
    ends = [f" to {cut:g}" for cut in reply.cuts]
    return ", ".join(
        f"{emotion}{end}" for emotion, end in zip(reply.emotions, [*ends, ""], strict=True)
    )
