"""Which emotion is taken for which: the protocol's places, truth against reply.

A place is a pair of segments, or one segment that found no partner; then the other side is NOTHING.
So the matrix's sum is the denominator of mIoU and Emo-Acc, and a clip without a usable reply, where
it counts, stands in the column NOTHING with each of its true segments. Overlap is not asked for:
`strict` and `paper` pair whatever overlaps at all, `released` whatever has the same index.

A line's sum is how often the truth says its label (not under `released`, which leaves out what has
no index in common). A column's sum may be less than how often replies say it: a predicted segment
has a place of its own only as far as the clip has more of them than true ones, and under `strict`
the others left over share the places of true ones that are left over.

Example: truth [0-4 Joy][4-8 Fear], reply [0-8 Joy] under `strict`: Joy-Joy 1, Fear-NOTHING 1.
"""

from collections.abc import Sequence

import numpy as np

from evaluation.analysis.document import NOTHING, Confusion
from evaluation.analysis.labels import LabelSet
from evaluation.metrics import ClipScore


def confusion_of(scores: Sequence[ClipScore], labels: LabelSet) -> Confusion:
    """The matrix of all places; the last row and column are NOTHING."""
    names = (*labels.names, NOTHING)
    nothing = len(names) - 1
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    for score in scores:
        for pair in score.pairs:
            wanted, given = (
                nothing if emotion is None else labels.index(emotion)
                for emotion in (pair.truth_emotion, pair.predicted_emotion)
            )
            counts[wanted, given] += 1
    return Confusion(labels=names, counts=tuple(tuple(row) for row in counts.tolist()))
