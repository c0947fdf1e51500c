"""The metrics, each a ratio of two sums over clips; a clip gives (numerator, denominator).

Written that way every mean, per clip, per segment or conditional, is resampled by the same code:
draw clips, sum both parts, divide.

    SC-Acc                #predicted = #truth                     / clips
    mIoU per segment      sum of tIoU                             / places
    mIoU per video        mean tIoU of the clip                   / clips
    Emo-Acc at t          same label and tIoU >= t                / places (all)
    Emo-Acc given IoU t   same label and tIoU >= t                / places with tIoU >= t
    label accuracy        same label                              / places
    valid JSON            one object in the schema                / clips
    valid timeline        strict timeline                         / clips

"Places" are the pairs that a protocol makes (`SegmentPair`). A clip that is not counted gives
(0, 0). Values are fractions in [0, 1].

Example: `miou_segment(score)` of a clip with tIoU .5 and 1.0 is `(1.5, 2.0)`.
"""

from collections.abc import Callable

from evaluation.metrics.clips import ClipScore

Ratio = tuple[float, float]
Metric = Callable[[ClipScore], Ratio]

# tIoU of times with one decimal that is exactly .5 on paper may be .49999999999999994 as a float.
# The released script has no such slack: there a pair of that tIoU is below .5.
THRESHOLD_SLACK = 1e-9
NO_SLACK = 0.0
TIOU_THRESHOLDS = (0.3, 0.5, 0.7, 0.9)
GOOD_TIOU = 0.5
"""At which tIoU a segment stands where it should (paper, section 5.1)."""


def segment_count_accuracy(score: ClipScore) -> Ratio:
    """SC-Acc: 1 where the clip has as many predicted segments as true ones."""
    if not score.counted:
        return 0.0, 0.0
    return float(score.num_predicted == score.num_truth), 1.0


def miou_segment(score: ClipScore) -> Ratio:
    """Mean tIoU over all places of all clips (micro)."""
    return sum(pair.tiou for pair in score.pairs), float(len(score.pairs))


def miou_video(score: ClipScore) -> Ratio:
    """Mean over clips of the clip's own mean tIoU (macro)."""
    if not score.counted:
        return 0.0, 0.0
    return sum(pair.tiou for pair in score.pairs) / len(score.pairs), 1.0


def label_accuracy(score: ClipScore) -> Ratio:
    """Share of places with the right label, whatever the overlap (the released script's)."""
    return float(sum(pair.same_emotion for pair in score.pairs)), float(len(score.pairs))


def emotion_accuracy_at(threshold: float, slack: float) -> Metric:
    """Emo-Acc over all places: right label and tIoU >= threshold - slack."""

    def metric(score: ClipScore) -> Ratio:
        correct = sum(pair.same_emotion and pair.tiou >= threshold - slack for pair in score.pairs)
        return float(correct), float(len(score.pairs))

    return metric


def emotion_accuracy_given_iou(threshold: float, slack: float) -> Metric:
    """Share of right labels among the places with tIoU >= threshold - slack.

    Conditional: places below the threshold leave the denominator, so that a reply may gain by
    placing a segment worse.
    """

    def metric(score: ClipScore) -> Ratio:
        reached = [pair for pair in score.pairs if pair.tiou >= threshold - slack]
        return float(sum(pair.same_emotion for pair in reached)), float(len(reached))

    return metric


def valid_json(score: ClipScore) -> Ratio:
    """Share of clips whose reply is one JSON object in the schema, whatever its times."""
    return (float(score.valid_json), 1.0) if score.counted else (0.0, 0.0)


def valid_timeline(score: ClipScore) -> Ratio:
    """Share of clips whose reply is a strict timeline."""
    return (float(score.valid_timeline), 1.0) if score.counted else (0.0, 0.0)
