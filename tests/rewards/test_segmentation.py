"""Equation 6 by hand: half IoU, half exp(-boundary distance / .5 s), mean over predictions."""

import pytest

from affect.matching import best_by_intersection, best_by_iou
from affect.timeline import Segment
from rewards import segmentation
from tests.rewards.builders import FEAR, JOY, compare, reply_text, timeline, times

TRUTH_2_10 = timeline((0.0, 2.0, "Joy", JOY), (2.0, 10.0, "Fear", FEAR))
TRUTH_2_9 = timeline((0.0, 2.0, "Joy", JOY), (2.0, 9.0, "Fear", FEAR))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (times(0.0, 4.0, 9.0), 1.0),
        # [0,5] against [0,4]: IoU 4/5, distance 1: .5*.8 + .5*exp(-2)      = .4676676416
        # [5,9] against [4,9]: IoU 4/5, distance 1: the same
        (times(0.0, 5.0, 9.0), 0.4676676416),
        # [0,9] against [4,9]: IoU 5/9 (4/9 with [0,4]), distance 4: .5*5/9 + .5*exp(-8)
        (times(0.0, 9.0), 0.2779455091),
        # The first true segment twice: each has IoU 1 with it. Nothing asks for the second.
        (reply_text((0.0, 4.0, "Joy", JOY), (0.0, 4.0, "Joy", FEAR)), 1.0),
        # The first alone.
        (reply_text((0.0, 4.0, "Joy", JOY)), 1.0),
        # No overlap with anything: IoU 0 with both, the earlier of equals is [0,4]:
        # distance |9.5-0| + |12-4| = 17.5: .5*exp(-35)
        (reply_text((9.5, 12.0, "Joy", JOY)), 3.1525587986e-16),
        # Zero length at 0: distance 4 to [0,4]: .5*exp(-8)
        (reply_text((0.0, 0.0, "Joy", JOY)), 0.0001677313),
        # Reversed [4,0]: IoU 0, distance 4 + 4 = 8 to [0,4]: .5*exp(-16)
        (reply_text((4.0, 0.0, "Joy", JOY)), 5.6267587e-08),
        ("", 0.0),
    ],
)
def test_equation_6(text: str, expected: float) -> None:
    assert segmentation.paper(compare(text)) == pytest.approx(expected, rel=1e-6)


def test_equation_6_pairs_by_iou_where_intersection_would_pair_differently() -> None:
    predicted = [Segment(0.0, 5.0, "Joy", JOY)]
    # With [0,2]: intersection 2, IoU 2/5. With [2,10]: intersection 3, IoU 3/10.
    assert best_by_iou(predicted, TRUTH_2_10.segments) == [0]
    assert best_by_intersection(predicted, TRUTH_2_10.segments) == [1]
    # .5*2/5 + .5*exp(-(0+3)/.5) = .2 + .5*exp(-6)
    # (by intersection it were .5*3/10 + .5*exp(-(2+5)/.5) = .1500004)
    text = reply_text((0.0, 5.0, "Joy", JOY))
    assert segmentation.paper(compare(text, TRUTH_2_10)) == pytest.approx(0.2012393761, abs=1e-9)


def test_equal_ious_go_to_the_earlier() -> None:
    # [1,4]: with [0,2] 1/4, with [2,9] 2/8. The earlier is 1 + 2 s away, the later 1 + 5 s.
    # .5*.25 + .5*exp(-3/.5) = .125 + .5*.0024787522
    text = reply_text((1.0, 4.0, "Joy", JOY))
    assert segmentation.paper(compare(text, TRUTH_2_9)) == pytest.approx(0.1262393761, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (times(0.0, 4.0, 9.0), 1.0),
        # [0,5] against [0,4]: .5*.8 + .5*exp(-1/(.2*4)) = .4 + .5*.2865047969 = .5432523984
        # [5,9] against [4,9]: .5*.8 + .5*exp(-1/(.2*5)) = .4 + .5*.3678794412 = .5839397206
        # Sum 1.1271921190 over max(2, 2)
        (times(0.0, 5.0, 9.0), 0.5635960595),
        # [0,9] takes [4,9]: .5*5/9 + .5*exp(-4/1.0) = .2869355972, over max(1, 2)
        (times(0.0, 9.0), 0.1434677986),
        # [0,4] and [4,9] cut at 6.5: [4,6.5] or [6.5,9] has IoU .5, distance 2.5 in 5 s:
        # 1 + (.5*.5 + .5*exp(-2.5/1.0)) = 1 + .25 + .0410424993, over max(3, 2)
        (times(0.0, 4.0, 6.5, 9.0), 0.4303474998),
        # Fails the strict parse: the first true segment twice, and alone.
        (reply_text((0.0, 4.0, "Joy", JOY), (0.0, 4.0, "Joy", FEAR)), 0.0),
        (reply_text((0.0, 4.0, "Joy", JOY)), 0.0),
        ("", 0.0),
    ],
)
def test_hardened(text: str, expected: float) -> None:
    assert segmentation.hardened(compare(text)) == pytest.approx(expected, abs=1e-9)


def test_hardened_is_the_same_for_the_same_picture_in_another_scale() -> None:
    small = timeline((0.0, 2.0, "Joy", JOY), (2.0, 5.0, "Fear", FEAR))
    large = timeline((0.0, 20.0, "Joy", JOY), (20.0, 50.0, "Fear", FEAR))
    expected = segmentation.hardened(compare(times(0.0, 1.5, 5.0), small))
    assert 0.3 < expected < 0.9
    assert segmentation.hardened(compare(times(0.0, 15.0, 50.0), large)) == pytest.approx(expected)
