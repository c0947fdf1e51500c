"""Emo-Acc at a tIoU over all places, and over those that reach it, under every protocol."""

import pytest

from evaluation.metrics import PROTOCOLS, Clip, ClipScore, make_clip, score_clips
from evaluation.metrics.ratios import TIOU_THRESHOLDS
from tests.evaluation.files import reply
from tests.evaluation.metrics.test_protocols import timeline

TRUTH = timeline([[0, 4, "Joy"], [4, 8, "Fear"], [8, 12, "Relief"]], 12.0)
# tIoU .75 right, .6 wrong, .8 right.
REPLY = reply([[0, 3, "Joy"], [3, 7, "Anger"], [7, 12, "Relief"]])


def slow_accuracies(scores: list[ClipScore], threshold: float) -> tuple[float, float | None]:
    """Over all places; over those that reach the threshold."""
    places = [pair for score in scores for pair in score.pairs]
    reached = [pair for pair in places if pair.tiou >= threshold]
    right = [pair for pair in reached if pair.truth_emotion == pair.predicted_emotion]
    return len(right) / len(places), len(right) / len(reached) if reached else None


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_by_hand(protocol: str) -> None:
    clips = [make_clip("a", TRUTH, REPLY)]
    tious = [pair.tiou for pair in PROTOCOLS[protocol].score_clip(clips[0]).pairs]
    assert tious == pytest.approx([0.75, 0.6, 0.8])
    means = {row.metric: row.mean for row in score_clips(clips, [protocol])}
    assert [means[f"emo_acc_at_{t}"] for t in TIOU_THRESHOLDS] == [2 / 3, 2 / 3, 2 / 3, 0.0]
    assert [means[f"emo_acc_given_iou_{t}"] for t in TIOU_THRESHOLDS] == [2 / 3, 2 / 3, 1.0, None]


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_equals_a_slow_count_with_failures(protocol: str) -> None:
    clips: list[Clip] = [
        make_clip("a", TRUTH, REPLY),
        make_clip("b", TRUTH, reply([[0, 12, "Fear"]])),
        make_clip("c", TRUTH, "nothing to read"),
        make_clip("d", TRUTH, None),
        make_clip(
            "e", TRUTH, reply([[0, 1, "Joy"], [1, 2, "Fear"], [2, 5, "Joy"], [5, 12, "Awe"]])
        ),
    ]
    scores = [PROTOCOLS[protocol].score_clip(clip) for clip in clips]
    means = {row.metric: row.mean for row in score_clips(clips, [protocol])}
    for threshold in TIOU_THRESHOLDS:
        found = means[f"emo_acc_at_{threshold}"], means[f"emo_acc_given_iou_{threshold}"]
        assert found == slow_accuracies(scores, threshold)


def test_only_the_released_comparison_has_no_slack() -> None:
    """2.0 of 4.0 s, but 4.1 - 2.1 is a little less than 2.0: a half for us, less than one there."""
    truth = timeline([[0, 0.1, "Joy"], [0.1, 4.1, "Fear"]], 4.1)
    clip = make_clip("a", truth, reply([[0, 2.1, "Joy"], [2.1, 4.1, "Fear"]]))
    assert PROTOCOLS["released"].score_clip(clip).pairs[1].tiou == 0.49999999999999994
    found = {
        (row.protocol, row.metric): row.mean
        for row in score_clips([clip])
        if row.metric in ("emo_acc_at_0.5", "emo_acc_given_iou_0.5")
    }
    assert found == {
        ("paper", "emo_acc_at_0.5"): 0.5,
        ("paper", "emo_acc_given_iou_0.5"): 1.0,
        ("released", "emo_acc_at_0.5"): 0.0,
        ("released", "emo_acc_given_iou_0.5"): None,
        ("strict", "emo_acc_at_0.5"): 0.5,
        ("strict", "emo_acc_given_iou_0.5"): 1.0,
    }
