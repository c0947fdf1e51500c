"""Per emotion: how often it is there, said and right.

    recall      correct / true segments of the emotion
    precision   predicted segments that are the partner in a correct pair / predicted segments
    f1          both numerators together / both denominators together: 2c / (t + p)
    mean tIoU   sum of tIoU of its true segments' pairs / true segments

Correct is a pair with the emotion on both sides and tIoU >= .5, in the protocol's own pairs and
with the protocol's own comparison. All are over the clips that count under the protocol; a clip
that counts without a usable reply gives its true segments and nothing predicted.

Example: truth [0-4 Joy][4-8 Fear], reply [0-8 Joy] under `strict`: Joy has recall 1/1, precision
1/1 and mean tIoU .5; Fear has recall 0/1, no precision (nobody said it), F1 0/1 and mean tIoU 0.
"""

from collections.abc import Sequence

import numpy as np

from affect.taxonomy import DAR_EMOTIONS
from evaluation.analysis.document import EmotionRow, Share
from evaluation.metrics import Clip, ClipScore
from evaluation.metrics.bootstrap import FloatArray
from evaluation.metrics.ratios import GOOD_TIOU

_PLACES = {emotion: place for place, emotion in enumerate(DAR_EMOTIONS)}


class EmotionCounts:
    """Per clip and emotion, each (clips, 27): segments of both sides, pairs, and tIoU."""

    def __init__(self, clips: Sequence[Clip], scores: Sequence[ClipScore], slack: float) -> None:
        shape = (len(clips), len(DAR_EMOTIONS))
        self.truth, self.predicted = np.zeros(shape), np.zeros(shape)
        self.correct, self.correct_predicted = np.zeros(shape), np.zeros(shape)
        self.tiou = np.zeros(shape)
        for row, (clip, score) in enumerate(zip(clips, scores, strict=True)):
            if score.counted:
                self._add(row, clip, score, slack)

    def _add(self, row: int, clip: Clip, score: ClipScore, slack: float) -> None:
        for segment in clip.truth.segments:
            self.truth[row, _PLACES[segment.emotion]] += 1
        for segment in score.predicted:
            if segment.emotion in _PLACES:
                self.predicted[row, _PLACES[segment.emotion]] += 1
        partners: set[int | None] = set()
        for pair in score.pairs:
            if pair.truth_emotion is None:
                continue
            place = _PLACES[pair.truth_emotion]
            self.tiou[row, place] += pair.tiou
            if pair.same_emotion and pair.tiou >= GOOD_TIOU - slack:
                self.correct[row, place] += 1
                # Under `paper` one predicted segment may be right for two true ones.
                self.correct_predicted[row, place] += pair.predicted_index not in partners
                partners.add(pair.predicted_index)

    def columns(self) -> list[tuple[FloatArray, FloatArray]]:
        """Numerators and denominators of precision, recall, F1 and mean tIoU."""
        return [
            (self.correct_predicted, self.predicted),
            (self.correct, self.truth),
            (self.correct + self.correct_predicted, self.truth + self.predicted),
            (self.tiou, self.truth),
        ]

    def rows(self, shares: Sequence[Sequence[Share]]) -> tuple[EmotionRow, ...]:
        """The 27 rows, from the shares of `columns`."""
        precision, recall, f1, mean_tiou = shares
        return tuple(
            EmotionRow(
                emotion=emotion,
                num_truth=int(self.truth[:, place].sum()),
                num_predicted=int(self.predicted[:, place].sum()),
                num_correct=int(self.correct[:, place].sum()),
                precision=precision[place],
                recall=recall[place],
                f1=f1[place],
                mean_tiou=mean_tiou[place],
            )
            for place, emotion in enumerate(DAR_EMOTIONS)
        )
