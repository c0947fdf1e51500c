"""The paper's figure 3 and appendix C over our rows, gathered row by row.

    gathered = Gathered()
    for row in rows: gathered.add(row)
    gathered.document()["emotion_transitions"]["shares"]["Craving"]["Satisfaction"]     # 0.47

The six parts, as the figure's: (a) durations, (b) segments by duration, (c) emotion transitions,
(d) emotions, (e) words of reasons, (f) terms; then genres and scenes. Shares are from 0 to 1. What
is a share or mean of nothing is None. The document does not depend on the order of the rows.
Memory: some numbers per row, and the vocabulary.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from affect.records import Row
from affect.taxonomy import DAR_EMOTIONS, speaks_of
from data_prep.dataset.terms import terms
from data_prep.records import GENRES, SCENES

TOP_EMOTIONS = 17
NUM_TERMS = 60
DURATION_BIN_SECONDS = 1.0
LENGTH_BIN_SECONDS = 5.0
REASON_BIN_WORDS = 10.0
_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(slots=True)
class Gathered:
    """What has been counted so far; `add` each row once."""

    video_seconds: "array[float]" = field(default_factory=lambda: array("d"))
    segment_seconds: "array[float]" = field(default_factory=lambda: array("d"))
    num_segments: "array[int]" = field(default_factory=lambda: array("l"))
    reason_words: "array[int]" = field(default_factory=lambda: array("l"))
    emotions: Counter[str] = field(default_factory=Counter)
    transitions: Counter[tuple[str, str]] = field(default_factory=Counter)
    terms: Counter[str] = field(default_factory=Counter)
    genres: Counter[str] = field(default_factory=Counter)
    scenes: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> None:
        """Count one row. It has a timeline (rounded: its times are the exported ones)."""
        assert row.timeline is not None, row.id
        segments = row.timeline.segments
        self.video_seconds.append(row.duration_seconds)
        self.num_segments.append(len(segments))
        for segment in segments:
            self.segment_seconds.append(segment.end_seconds - segment.start_seconds)
            self.reason_words.append(len(segment.reason.split()))
            self.emotions[segment.emotion] += 1
            self.terms.update(terms(segment.reason))
        self.transitions.update((one.emotion, other.emotion) for one, other in pairwise(segments))
        for counter, name in ((self.genres, "genre"), (self.scenes, "scene")):
            if name in row.extra:
                counter[row.extra[name]] += 1

    def document(self) -> dict[str, Any]:
        """All statistics as JSON; the parts are named as in figure 3."""
        return {
            "num_videos": len(self.video_seconds),
            "num_segments": len(self.segment_seconds),
            "video_seconds": distribution(self.video_seconds, DURATION_BIN_SECONDS),
            "segment_seconds": distribution(self.segment_seconds, DURATION_BIN_SECONDS),
            "segments_by_duration": self._segments_by_duration(),
            "emotion_transitions": self._transitions(),
            "emotions": self._emotions(),
            "reason_words": distribution(self.reason_words, REASON_BIN_WORDS),
            "terms": self._terms(),
            "genres": _shares(self.genres, GENRES),
            "scenes": _shares(self.scenes, SCENES),
        }

    def _segments_by_duration(self) -> list[dict[str, Any]]:
        """Per five seconds of video length: how many videos have how many segments."""
        bins: dict[int, Counter[int]] = {}
        for seconds, count in zip(self.video_seconds, self.num_segments, strict=True):
            bins.setdefault(math.floor(seconds / LENGTH_BIN_SECONDS + 5e-7), Counter())[count] += 1
        return [
            {
                "from_seconds": number * LENGTH_BIN_SECONDS,
                "to_seconds": (number + 1) * LENGTH_BIN_SECONDS,
                "num_videos": counts.total(),
                "mean_num_segments": share(
                    sum(count * videos for count, videos in counts.items()), counts.total()
                ),
                "num_videos_by_num_segments": {str(one): counts[one] for one in sorted(counts)},
            }
            for number, counts in sorted(bins.items())
        ]

    def _transitions(self) -> dict[str, Any]:
        """Row-normalised: of all changes away from an emotion, the share that leads to another."""
        leaving: Counter[str] = Counter()
        for (one, _), count in self.transitions.items():
            leaving[one] += count
        return {
            "num_transitions": self.transitions.total(),
            "counts": {
                one: {other: self.transitions[one, other] for other in DAR_EMOTIONS}
                for one in DAR_EMOTIONS
            },
            "shares": {
                one: {
                    other: share(self.transitions[one, other], leaving[one])
                    for other in DAR_EMOTIONS
                }
                for one in DAR_EMOTIONS
            },
        }

    def _emotions(self) -> dict[str, Any]:
        ranked = _ranked(self.emotions)
        return {
            **_shares(self.emotions, DAR_EMOTIONS),
            "ranked": [name for name, _ in ranked],
            "top_17_share": share(
                sum(count for _, count in ranked[:TOP_EMOTIONS]), self.emotions.total()
            ),
        }

    def _terms(self) -> dict[str, Any]:
        """The most frequent ones; names_emotions: of the 27, those whose word it is."""
        most = _ranked(self.terms)[:NUM_TERMS]
        return {
            "num_different": len(self.terms),
            "num": self.terms.total(),
            "most_frequent": [
                {
                    "term": term,
                    "count": count,
                    "share": share(count, self.terms.total()),
                    "names_emotions": [one for one in DAR_EMOTIONS if speaks_of(term, one)],
                }
                for term, count in most
            ],
        }


def share(part: float, whole: float) -> float | None:
    """part / whole, and None of nothing."""
    return part / whole if whole else None


def distribution(values: Sequence[float], bin_width: float) -> dict[str, Any]:
    """Count, mean, quantiles (linear between neighbours) and a histogram of what is there.

    Bins that hold nothing between others are listed, too.
    """
    ordered = sorted(values)
    return {
        "num": len(ordered),
        # fsum is exact, so the mean does not depend on the order.
        "mean": share(math.fsum(ordered), len(ordered)),
        "quantiles": {f"{at:g}": _quantile(ordered, at) for at in _QUANTILES},
        "bin_width": bin_width,
        "bins": _bins(ordered, bin_width),
    }


def _bins(ordered: Iterable[float], bin_width: float) -> list[dict[str, float]]:
    # Half a microunit: .3 / .1 is 2.999... in binary.
    counts = Counter(math.floor(value / bin_width + 5e-7) for value in ordered)
    if not counts:
        return []
    return [
        {"from": number * bin_width, "to": (number + 1) * bin_width, "count": counts[number]}
        for number in range(min(counts), max(counts) + 1)
    ]


def _quantile(ordered: Sequence[float], at: float) -> float | None:
    if not ordered:
        return None
    position = at * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def _shares(counts: Counter[str], names: Sequence[str]) -> dict[str, Any]:
    assert set(counts) <= set(names), sorted(set(counts) - set(names))
    return {
        "num": counts.total(),
        "counts": {name: counts[name] for name in names},
        "shares": {name: share(counts[name], counts.total()) for name in names},
    }


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(((one, count) for one, count in counts.items() if count), key=_most_first)


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]
