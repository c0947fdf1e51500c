"""Kinds of errors of a clip, each worked out by hand."""

import random
from itertools import pairwise

import pytest

from affect.parsing import parse_reply
from affect.timeline import Timeline
from evaluation.metrics import PROTOCOLS, make_clip
from evaluation.report.outcome import KINDS, outcome_of
from tests.evaluation.files import Spans, reply

TRUTH = [[0, 4, "Joy"], [4, 8, "Fear"]]


def timeline(spans: Spans) -> Timeline:
    parsed = parse_reply(reply(spans), 8.0).timeline
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    ("spans", "kinds", "mean_tiou", "accuracy"),
    [
        (TRUTH, ("right",), 1.0, 1.0),
        ([[0, 2, "Joy"], [2, 8, "Fear"]], ("right",), (0.5 + 4 / 6) / 2, 1.0),
        ([[0, 1.9, "Joy"], [1.9, 8, "Fear"]], ("bad_boundary",), (1.9 / 4 + 4 / 6.1) / 2, 0.5),
        ([[0, 4, "Joy"], [4, 8, "Anger"]], ("wrong_label",), 1.0, 0.5),
        ([[0, 8, "Joy"]], ("too_few",), 0.25, 0.5),
        (
            [[0, 1, "Fear"], [1, 4, "Joy"], [4, 8, "Fear"]],
            ("too_many",),
            (0.75 + 1.0 + 0.0) / 3,
            2 / 3,
        ),
        (
            [[0, 1, "Anger"], [1, 8, "Joy"]],
            ("wrong_label", "bad_boundary"),
            (1 / 4 + 4 / 7) / 2,
            0.0,
        ),
    ],
)
def test_kinds(spans: Spans, kinds: tuple[str, ...], mean_tiou: float, accuracy: float) -> None:
    clip = make_clip("a", timeline(TRUTH), reply(spans))
    outcome = outcome_of(PROTOCOLS["strict"].score_clip(clip))
    assert outcome.kinds == kinds
    assert outcome.mean_tiou == pytest.approx(mean_tiou)
    assert outcome.emotion_accuracy == pytest.approx(accuracy)


def test_segments_left_over_on_both_sides_are_not_right() -> None:
    """Two of each, but 0-9 pairs best with 1-10 alone (.8), so 0-1 and 9-10 meet nothing."""
    truth = parse_reply(reply([[0, 1, "Joy"], [1, 10, "Fear"]]), 10.0).timeline
    assert truth is not None
    clip = make_clip("a", truth, reply([[0, 9, "Fear"], [9, 10, "Joy"]]))
    outcome = outcome_of(PROTOCOLS["strict"].score_clip(clip))
    assert outcome.kinds == ("bad_boundary",)
    assert (outcome.mean_tiou, outcome.emotion_accuracy) == (pytest.approx(0.4), 0.5)


def test_right_is_exactly_as_many_segments_and_every_place_correct() -> None:
    dice = random.Random(0)
    for _ in range(300):
        given, wanted = (
            [
                [start, end, label]
                for (start, end), label in zip(
                    pairwise([0, *sorted(dice.sample(range(1, 12), dice.randint(0, 3))), 12]),
                    ["Joy", "Fear", "Joy", "Fear"],
                    strict=False,
                )
            ]
            for _ in range(2)
        )
        truth = parse_reply(reply(wanted), 12.0).timeline
        assert truth is not None
        outcome = outcome_of(PROTOCOLS["strict"].score_clip(make_clip("a", truth, reply(given))))
        is_right = len(given) == len(wanted) and outcome.emotion_accuracy == 1.0
        assert (outcome.kinds == ("right",)) == is_right


@pytest.mark.parametrize(("text", "kind"), [(None, "missing"), ("I can't.", "unparsed")])
def test_what_was_not_scored_has_no_score(text: str | None, kind: str) -> None:
    clip = make_clip("a", timeline(TRUTH), text)
    outcome = outcome_of(PROTOCOLS["strict"].score_clip(clip))
    assert (outcome.kinds, outcome.mean_tiou, outcome.emotion_accuracy) == ((kind,), None, None)


def test_names_are_unique() -> None:
    assert len({name for name, _, _ in KINDS}) == len(KINDS) == 7
