"""Which emotion follows which: changes within clips, the truth's and the replies'.

A change is a segment followed by one of another label, in the order of their starts (equal starts
keep the reply's order); two neighbours of one label, which only `paper` lets pass, are none. The
truth's are those of all clips, the replies' those of scored clips, so a system that fails often has
few of the latter. `distance` compares shares, not counts: half of the sum over all pairs of labels
of |share of the truth's changes - share of the replies' changes|; 0 for equal habits, 1 for none
in common. It does not ask whether a change stands where the truth has it.

Example: truth twice Joy-Fear, replies once Joy-Fear and once Fear-Joy:
(|1 - .5| + |0 - .5|) / 2 = .5.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from affect.timeline import Segment
from evaluation.analysis.document import Transitions
from evaluation.analysis.labels import LabelSet
from evaluation.metrics import Clip, ClipScore


def in_time_order(segments: Sequence[Segment]) -> list[Segment]:
    """By start; what has no finite start comes last."""
    return sorted(
        segments,
        key=lambda one: one.start_seconds if math.isfinite(one.start_seconds) else math.inf,
    )


def transitions_of(
    clips: Sequence[Clip], scores: Sequence[ClipScore], labels: LabelSet
) -> Transitions:
    """Both matrices and their distance."""
    truth = _changes([clip.truth.segments for clip in clips], labels)
    predicted = _changes([score.predicted for score in scores], labels)
    num_truth, num_predicted = int(truth.sum()), int(predicted.sum())
    distance = None
    if num_truth and num_predicted:
        distance = float(np.abs(truth / num_truth - predicted / num_predicted).sum() / 2)
    return Transitions(
        labels=labels.names,
        truth=tuple(tuple(row) for row in truth.tolist()),
        predicted=tuple(tuple(row) for row in predicted.tolist()),
        num_truth=num_truth,
        num_predicted=num_predicted,
        distance=distance,
    )


def _changes(timelines: Sequence[Sequence[Segment]], labels: LabelSet) -> NDArray[np.int64]:
    counts = np.zeros((len(labels.names), len(labels.names)), dtype=np.int64)
    for segments in timelines:
        places = [labels.index(segment.emotion) for segment in in_time_order(segments)]
        for before, after in pairwise(places):
            if before != after:
                counts[before, after] += 1
    return counts
