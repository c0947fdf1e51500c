"""Which stretches meet an annotated segment: greedy by score, one to one, within each video.

Candidates of one polarity are taken from the highest score down; each takes the segment with the
highest tIoU among those of its video that are still free, if that tIoU reaches the threshold.
Candidates of equal score have no order: of them the pair with the highest tIoU is made first, then
the next, so that the order in which a file lists them changes nothing. With distinct scores this is
the published protocol.

Example: `ranked = rank(videos, candidates, "positive")`; `ranked.hits[0]` are the hits at tIoU .10.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from affect.matching import interval_iou
from evaluation.suites.tsl300.candidates import Candidate
from evaluation.suites.tsl300.labels import Polarity, TslSegment, TslVideo
from evaluation.suites.tsl300.results import TIOU_THRESHOLDS

FloatArray = NDArray[np.float64]

THRESHOLD_SLACK = 1e-9
"""A tIoU that is exactly .1 on paper may be a bit less as a float."""


@dataclass(frozen=True)
class Ranked:
    """One polarity's candidates as blocks of equal score, from the highest score down.

    num_truth: (videos,) annotated segments. listed: (videos, blocks) candidates.
    hits: (thresholds, videos, blocks) candidates that met a segment.
    """

    num_truth: FloatArray
    listed: FloatArray
    hits: FloatArray


def rank(
    videos: Sequence[TslVideo], candidates: Mapping[str, Sequence[Candidate]], polarity: Polarity
) -> Ranked:
    """Match one polarity's candidates at each of TIOU_THRESHOLDS.

    videos: of the subset, also those without annotations, where every candidate is wrong.
    """
    mine = [[c for c in candidates.get(v.id, ()) if c.polarity == polarity] for v in videos]
    scores = sorted({c.score for of_video in mine for c in of_video}, reverse=True)
    block_of = {score: block for block, score in enumerate(scores)}
    num_truth = np.zeros(len(videos))
    listed = np.zeros((len(videos), len(scores)))
    hits = np.zeros((len(TIOU_THRESHOLDS), len(videos), len(scores)))
    for v, (video, of_video) in enumerate(zip(videos, mine, strict=True)):
        truth = [segment for segment in video.segments if segment.polarity == polarity]
        num_truth[v] = len(truth)
        for candidate in of_video:
            listed[v, block_of[candidate.score]] += 1
        for t, threshold in enumerate(TIOU_THRESHOLDS):
            for score in match(of_video, truth, threshold):
                hits[t, v, block_of[score]] += 1
    return Ranked(num_truth, listed, hits)


def match(
    candidates: Iterable[Candidate], truth: Sequence[TslSegment], threshold: float
) -> list[float]:
    """The scores of the candidates of one video and polarity that meet a segment."""
    free = set(range(len(truth)))
    met: list[float] = []
    # Start and end after the score: equal candidates are interchangeable, so the order is settled.
    ordered = sorted(candidates, key=lambda c: (-c.score, c.start_seconds, c.end_seconds))
    for score, block in groupby(ordered, key=lambda c: c.score):
        pairs = [
            (-tiou, j, i)
            for i, c in enumerate(block)
            for j in free
            if (
                tiou := interval_iou(
                    c.start_seconds, c.end_seconds, truth[j].start_seconds, truth[j].end_seconds
                )
            )
            >= threshold - THRESHOLD_SLACK
        ]
        taken: set[int] = set()
        for _, j, i in sorted(pairs):
            if j in free and i not in taken:
                free.remove(j)
                taken.add(i)
                met.append(score)
    return met
