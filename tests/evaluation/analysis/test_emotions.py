"""Per emotion: numbers by hand, and a slow count."""

import pytest
from hypothesis import given, settings

from affect.taxonomy import DAR_EMOTIONS
from evaluation.analysis.analyse import analyse
from evaluation.analysis.document import EmotionRow
from evaluation.metrics import PROTOCOLS, Bootstrap
from tests.evaluation.analysis.drawn import Written, load, written_clips

FEW = Bootstrap(num_replicates=20)
TWO = [[0, 4, "Joy"], [4, 8, "Fear"]]


def rows_of(written: list[Written], protocol: str = "strict") -> dict[str, EmotionRow]:
    return {row.emotion: row for row in analyse(*load(written), protocol, FEW).emotions}


def test_there_are_27_in_their_order() -> None:
    assert tuple(rows_of([("a", TWO, None)])) == DAR_EMOTIONS


def test_by_hand() -> None:
    rows = rows_of(
        [
            ("a", TWO, TWO),
            ("b", TWO, [[0, 8, "Joy"]]),  # Joy at .5: right; Fear alone
            ("c", TWO, [[0, 3, "Relief"], [3, 8, "Fear"]]),  # .75 wrong, .8 right
            ("d", TWO, [[0, 1, "Joy"], [1, 8, "Fear"]]),  # .25 too little, 4/7 right
        ]
    )
    joy, fear, relief = rows["Joy"], rows["Fear"], rows["Relief"]
    assert (joy.num_truth, joy.num_predicted, joy.num_correct) == (4, 3, 2)
    assert (joy.precision.mean, joy.recall.mean) == (2 / 3, 0.5)
    assert (joy.f1.numerator, joy.f1.denominator, joy.f1.mean) == (4, 7, 4 / 7)
    assert joy.mean_tiou.mean == pytest.approx((1 + 0.5 + 0.75 + 0.25) / 4)
    assert (fear.num_truth, fear.num_predicted, fear.num_correct) == (4, 3, 3)
    assert fear.mean_tiou.mean == pytest.approx((1 + 0 + 0.8 + 4 / 7) / 4)
    assert (relief.num_truth, relief.num_predicted, relief.num_correct) == (0, 1, 0)
    assert (relief.precision.mean, relief.recall.mean, relief.f1.mean) == (0.0, None, 0.0)
    assert (relief.mean_tiou.mean, relief.mean_tiou.denominator) == (None, 0)
    assert rows["Horror"].f1.mean is None


def test_failures_count_where_the_protocol_counts_them() -> None:
    written: list[Written] = [("a", TWO, TWO), ("b", TWO, "no"), ("c", TWO, None)]
    for protocol, num_truth in (("strict", 3), ("paper", 3), ("released", 1)):
        joy = rows_of(written, protocol)["Joy"]
        assert (joy.num_truth, joy.num_predicted, joy.num_correct) == (num_truth, 1, 1)
        assert joy.recall.mean == pytest.approx(1 / num_truth)
        assert joy.precision.mean == 1.0


def test_one_predicted_segment_that_is_right_twice_is_one_for_precision() -> None:
    """Under `paper` it may serve two true ones of one label, where tolerance lets a third between
    them overlap both."""
    truth = [[0, 4, "Joy"], [3.97, 4.03, "Fear"], [4, 8, "Joy"]]
    joy = rows_of([("a", truth, [[0, 8, "Joy"]])], "paper")["Joy"]
    assert (joy.num_truth, joy.num_predicted, joy.num_correct) == (2, 1, 2)
    assert (joy.precision.mean, joy.recall.mean, joy.f1.mean) == (1.0, 1.0, 1.0)


@given(written_clips())
@settings(max_examples=25, deadline=None)
def test_equals_a_slow_count(written: list[Written]) -> None:
    truths, clips = load(written)
    for name, protocol in PROTOCOLS.items():
        scores = [protocol.score_clip(clip) for clip in clips]
        counted = [pair for pair in zip(clips, scores, strict=True) if pair[1].counted]
        for row in analyse(truths, clips, name, FEW).emotions:
            true = [s for c, _ in counted for s in c.truth.segments if s.emotion == row.emotion]
            said = [s for _, score in counted for s in score.predicted if s.emotion == row.emotion]
            pairs = [p for _, one in counted for p in one.pairs if p.truth_emotion == row.emotion]
            right = [
                p
                for p in pairs
                if p.predicted_emotion == row.emotion and p.tiou >= 0.5 - protocol.tiou_slack
            ]
            assert (row.num_truth, row.num_predicted) == (len(true), len(said))
            assert row.num_correct == len(right)
            assert row.mean_tiou.numerator == pytest.approx(sum(p.tiou for p in pairs))
            assert row.f1.denominator == len(true) + len(said)
            for share in (row.precision, row.recall, row.f1, row.mean_tiou):
                assert share.mean is None or 0.0 <= share.mean <= 1.0 + 1e-12
