"""The protocol against a slow reference, against every order of ties, and in literal numbers."""

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise, permutations, repeat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.metrics import Bootstrap
from evaluation.suites.tsl300.candidates import Candidate
from evaluation.suites.tsl300.curves import f2, values_of
from evaluation.suites.tsl300.labels import POLARITIES, Polarity, TslSegment, TslVideo, read_labels
from evaluation.suites.tsl300.matches import match, rank
from evaluation.suites.tsl300.protocol import score_rows
from evaluation.suites.tsl300.results import TIOU_THRESHOLDS
from tests.evaluation.suites.tsl300.published_script import published
from tests.paths import SHARED, needs_shared

ONCE = Bootstrap(1)
Found = dict[str, list[Candidate]]


def video(name: str, *spans: tuple[float, float, Polarity]) -> TslVideo:
    return TslVideo(name, "test", 1000.0, tuple(TslSegment(*span) for span in spans))


def scores(
    videos: Sequence[TslVideo], found: Mapping[str, Sequence[Candidate]]
) -> dict[str, float | None]:
    """AVG by metric, and `map@.1`."""
    rows = score_rows(videos, found, ONCE)
    values = {row.metric: row.mean for row in rows if row.tiou is None}
    return {**values, "map@.1": next(r.mean for r in rows if r.metric == "map" and r.tiou == 0.1)}


def spans_of(
    videos: Sequence[TslVideo], polarity: Polarity
) -> dict[str, list[tuple[float, float]]]:
    return {
        one.id: [(s.start_seconds, s.end_seconds) for s in one.segments if s.polarity == polarity]
        for one in videos
    }


def in_order(
    videos: Sequence[TslVideo], listed: Sequence[tuple[str, Candidate]], threshold: float
) -> dict[str, float]:
    """What the published script gives for this very order."""
    values = []
    for polarity in POLARITIES:
        truth = spans_of(videos, polarity)
        mine = [
            (name, c.start_seconds, c.end_seconds) for name, c in listed if c.polarity == polarity
        ]
        values.append(published(truth, mine, threshold))
    ap, precision, recall = np.mean(values, axis=0)
    return {"map": ap, "mean_running_precision": precision, "mean_running_recall": recall}


@pytest.fixture(scope="module")
def test_videos() -> list[TslVideo]:
    return read_labels(SHARED / "annotations" / "TSL300").subset("test")


def perfect(videos: Sequence[TslVideo], score: float = 1.0) -> Found:
    return {
        one.id: [Candidate(s.polarity, s.start_seconds, s.end_seconds, score) for s in one.segments]
        for one in videos
    }


def nowhere(videos: Sequence[TslVideo], polarity_of: Sequence[Polarity], score: float) -> Found:
    """As many candidates as annotations, beyond the end of every video."""
    polarity = iter(polarity_of)
    return {
        one.id: [
            Candidate(next(polarity), 2000 + s.start_seconds, 2000 + s.end_seconds, score)
            for s in one.segments
        ]
        for one in videos
    }


def joined(*parts: Found) -> Found:
    return {name: [c for part in parts for c in part[name]] for name in parts[0]}


@needs_shared
def test_a_perfect_prediction(test_videos: list[TslVideo]) -> None:
    found = scores(test_videos, perfect(test_videos))
    assert found["map"] == found["map_best_tie_order"] == 1.0
    assert found["recall"] == found["precision"] == found["f2"] == 1.0
    assert found["mean_running_precision"] == pytest.approx(1.0)
    # 352 positive and 232 negative annotations: the mean of 353/704 and 233/464.
    assert found["mean_running_recall"] == pytest.approx(0.5018, abs=5e-5)
    assert found["published_f2"] == pytest.approx(0.5573, abs=5e-5)


@needs_shared
def test_false_positives_raise_the_published_recall(test_videos: list[TslVideo]) -> None:
    labels: list[Polarity] = [s.polarity for one in test_videos for s in one.segments]
    wrong = nowhere(test_videos, labels, 0.1)
    found = scores(test_videos, joined(perfect(test_videos), wrong))
    assert found["map"] == 1.0 and found["recall"] == 1.0
    assert found["precision"] == 0.5 and found["f2"] == pytest.approx(5 / 6)
    # As many of each polarity: 3/4 + 1/(4N).
    assert found["mean_running_recall"] == pytest.approx(0.75 + (1 / 352 + 1 / 232) / 8)
    assert found["mean_running_recall"] == pytest.approx(0.7509, abs=5e-5)
    assert found["published_f2"] == pytest.approx(0.7682, abs=5e-5)
    # The same number shared out as 265 positive and 319 negative.
    uneven: list[Polarity] = [*repeat(POLARITIES[0], 265), *repeat(POLARITIES[1], 319)]
    found = scores(test_videos, joined(perfect(test_videos), nowhere(test_videos, uneven, 0.1)))
    assert found["map"] == 1.0
    assert found["mean_running_recall"] == pytest.approx(0.753, abs=5e-4)
    assert found["published_f2"] == pytest.approx(0.7685, abs=5e-4)


def script_order(found: Found) -> list[tuple[str, Candidate]]:
    """As the script's `argsort()[::-1]` leaves equal scores: the file backwards."""
    return [(name, candidate) for name, of_video in found.items() for candidate in of_video][::-1]


@needs_shared
def test_without_scores_the_order_decides_in_the_script_and_not_here(
    test_videos: list[TslVideo],
) -> None:
    uneven: list[Polarity] = [*repeat(POLARITIES[0], 265), *repeat(POLARITIES[1], 319)]
    random.Random(0).shuffle(uneven)
    found = joined(perfect(test_videos), nowhere(test_videos, uneven, 1.0))
    low, high = (scores(test_videos, found)[name] for name in ("map", "map_best_tie_order"))
    # Every hit is at the precision of the whole list: 352/617 and 232/551.
    assert low is not None and high == 1.0
    assert low == pytest.approx((352 / 617 + 232 / 551) / 2)
    backwards = in_order(test_videos, script_order(found), 0.1)["map"]
    assert backwards == pytest.approx(0.515, abs=0.01)
    shuffled = random.Random(0).sample(script_order(found), 1168)
    assert low < in_order(test_videos, shuffled, 0.1)["map"] < 1.0
    # The file's order changes nothing here.
    again: Found = {}
    for name, candidate in shuffled:
        again.setdefault(name, []).append(candidate)
    assert scores(test_videos, again) == scores(test_videos, found)


@needs_shared
def test_each_prediction_twice(test_videos: list[TslVideo]) -> None:
    twice = joined(perfect(test_videos), perfect(test_videos))
    assert in_order(test_videos, script_order(twice), 0.1)["map"] == pytest.approx(0.54, abs=5e-3)
    found = scores(test_videos, twice)
    assert found["map"] == 0.5 and found["recall"] == 1.0 and found["precision"] == 0.5
    assert found["map_best_tie_order"] == 1.0


def test_literal_case() -> None:
    """[0-10 p] and [20-30 p] in one video; hit .9, miss .8, hit .7: AP = .5 x 1 + .5 x 2/3."""
    videos = [video("a", (0, 10, "positive"), (20, 30, "positive"), (50, 60, "negative"))]
    found = {
        "a": [
            Candidate("positive", 0, 10, 0.9),
            Candidate("positive", 1, 10, 0.8),
            Candidate("positive", 20, 30, 0.7),
            Candidate("negative", 50, 60, 0.5),
        ]
    }
    rows = {(row.metric, row.tiou): row.mean for row in score_rows(videos, found, ONCE)}
    assert rows["ap_positive", 0.3] == pytest.approx(5 / 6)
    assert rows["ap_negative", None] == 1.0
    assert rows["map", 0.1] == pytest.approx(11 / 12)
    # Running recall .5, .5, 1 and 1; running precision 1, 1/2, 2/3 and 1.
    assert rows["mean_running_recall", 0.2] == pytest.approx((2 / 3 + 1) / 2)
    assert rows["mean_running_precision", 0.2] == pytest.approx((13 / 18 + 1) / 2)
    assert rows["precision", 0.2] == pytest.approx((2 / 3 + 1) / 2)
    p, r = (13 / 18 + 1) / 2, (2 / 3 + 1) / 2
    assert rows["published_f2", 0.2] == pytest.approx(5 * p * r / (4 * p + r))


def test_thresholds_are_met_at_equality() -> None:
    truth = [TslSegment(0.0, 10.0, "positive")]
    exactly_a_fifth = Candidate("positive", 0.0, 2.0)
    assert match([exactly_a_fifth], truth, 0.2) == [1.0]
    assert match([exactly_a_fifth], truth, 0.25) == []
    assert match([Candidate("positive", 0.0, 1.0 / 3.0 * 0.9)], truth, 0.1) == []


def test_the_best_free_segment_is_taken_and_equal_scores_by_overlap() -> None:
    truth = [TslSegment(0, 10, "positive"), TslSegment(10, 20, "positive")]
    wide, narrow = Candidate("positive", 2, 14, 0.9), Candidate("positive", 0, 10, 0.5)
    # By score: the wide one takes the first segment, the narrow one meets no free segment.
    assert match([wide, narrow], truth, 0.1) == [0.9]
    # Of equal score: the narrow one goes first, the wide one takes what is left.
    equal = [Candidate("positive", 2, 14, 0.9), Candidate("positive", 0, 10, 0.9)]
    assert match(equal, truth, 0.1) == match(equal[::-1], truth, 0.1) == [0.9, 0.9]


def test_a_polarity_without_predictions_counts_as_nothing_found() -> None:
    videos = [video("a", (0, 10, "positive"), (20, 30, "negative"))]
    found = scores(videos, {"a": [Candidate("positive", 0, 10)]})
    assert (found["map"], found["recall"], found["precision"]) == (0.5, 0.5, 0.5)
    assert (found["ap_positive"], found["ap_negative"]) == (1.0, 0.0)
    nothing = scores(videos, {})
    assert set(nothing.values()) == {0.0}


def test_a_polarity_without_annotations_has_no_mean() -> None:
    found = scores([video("a", (0, 10, "positive"))], {"a": [Candidate("positive", 0, 10)]})
    assert found["ap_positive"] == 1.0
    assert found["ap_negative"] is None and found["map"] is None and found["f2"] is None


def test_videos_without_annotation_and_stretches_without_length_are_wrong() -> None:
    videos = [video("a", (0, 10, "positive"), (20, 30, "negative")), video("b")]
    found = scores(
        videos,
        {
            "a": [Candidate("positive", 0, 10), Candidate("negative", 20, 30)],
            "b": [Candidate("positive", 0, 10)],
        },
    )
    assert found["ap_positive"] == 0.5 and found["recall"] == 1.0
    flat = [Candidate("positive", 5, 5), Candidate("positive", 8, 2), Candidate("positive", 0, 10)]
    found = scores(videos, {"a": [*flat, Candidate("negative", 20, 30)]})
    assert found["ap_positive"] == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="c: predictions of a video that is not in the subset"):
        score_rows(videos, {"c": []}, ONCE)
    with pytest.raises(ValueError, match="no video"):
        score_rows([], {}, ONCE)


PLACES = st.tuples(
    st.sampled_from(["a", "b"]),
    st.integers(0, 3),
    st.sampled_from([(0, 10), (0, 3), (5, 5), (60, 70)]),
    st.sampled_from(POLARITIES),
    st.sampled_from([0.2, 0.5, 0.9]),
)
Place = tuple[str, int, tuple[int, int], Polarity, float]
# Far apart, so that a candidate meets one annotation at most.
VIDEOS = [
    video("a", (0, 10, "positive"), (100, 110, "positive"), (200, 210, "negative")),
    video("b", (0, 10, "negative"), (100, 110, "positive")),
]


def placed(places: Sequence[Place]) -> Found:
    found: Found = {"a": [], "b": []}
    for name, block, (start, end), polarity, score in places:
        found[name].append(Candidate(polarity, 100.0 * block + start, 100.0 * block + end, score))
    return found


def all_orders(found: Found, polarity: Polarity, threshold: float) -> np.ndarray:
    """(orders, 3): AP, running precision and running recall of the script."""
    listed = [(name, c) for name, cs in found.items() for c in cs if c.polarity == polarity]
    truth = spans_of(VIDEOS, polarity)
    return np.array(
        [
            published(truth, [(n, c.start_seconds, c.end_seconds) for n, c in order], threshold)
            for order in permutations(listed)
            if all(a.score >= b.score for (_, a), (_, b) in pairwise(order))
        ]
    )


@settings(max_examples=20, deadline=None)
@given(st.lists(PLACES, min_size=1, max_size=6, unique_by=lambda place: (place[0], place[1])))
def test_ties_against_every_order(places: list[Place]) -> None:
    """Without two candidates for one annotation all is exact."""
    found = placed(places)
    for polarity in {place[3] for place in places}:
        values = values_of(np.ones((1, 2)), rank(VIDEOS, found, polarity))
        for t, threshold in ((0, 0.1), (4, 0.3)):
            ap, precision, recall = all_orders(found, polarity, threshold).T
            assert values["ap_low"][0, t] == pytest.approx(ap.min())
            assert values["ap_high"][0, t] == pytest.approx(ap.max())
            assert values["mean_running_precision"][0, t] == pytest.approx(precision.mean())
            assert values["mean_running_recall"][0, t] == pytest.approx(recall.mean())


@settings(max_examples=20, deadline=None)
@given(st.lists(PLACES, min_size=1, max_size=5))
def test_rivals_for_one_annotation_stay_within_the_range(places: list[Place]) -> None:
    """Of two rivals the first in any order is the hit, so the lowest is not always reached."""
    found = placed(places)
    for polarity in {place[3] for place in places}:
        values = values_of(np.ones((1, 2)), rank(VIDEOS, found, polarity))
        for t, threshold in ((0, 0.1), (4, 0.3)):
            ap, _, recall = all_orders(found, polarity, threshold).T
            assert values["ap_low"][0, t] <= ap.min() + 1e-12
            assert values["ap_high"][0, t] >= ap.max() - 1e-12
            assert values["mean_running_recall"][0, t] <= recall.mean() + 1e-12


@pytest.mark.parametrize(
    ("spans", "low", "high", "other_order"),
    [([(0, 10), (2, 14)], 1.0, 1.0, 0.5), ([(1, 12), (0, 6)], 0.25, 0.5, 1.0)],
)
def test_rivals_for_several_annotations_can_leave_the_range(
    spans: list[tuple[float, float]], low: float, high: float, other_order: float
) -> None:
    """The pair of highest tIoU is made first, which need not be what a file's order makes."""
    videos = [video("a", (0, 10, "positive"), (10, 20, "positive"))]
    found = {"a": [Candidate("positive", *span) for span in spans]}
    values = values_of(np.ones((1, 1)), rank(videos, found, "positive"))
    assert (values["ap_low"][0, 0], values["ap_high"][0, 0]) == (low, high)
    backwards = [("a", start, end) for start, end in reversed(spans)]
    assert published(spans_of(videos, "positive"), backwards, 0.1)[0] == pytest.approx(other_order)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_distinct_scores_against_the_reference(seed: int) -> None:
    """Candidates that overlap several annotations; 8 videos, shared scores nowhere."""
    dice = random.Random(seed)
    videos = [
        video(
            str(v),
            *(
                (10.0 * i, 10.0 * i + dice.randint(3, 10), dice.choice(POLARITIES))
                for i in range(4)
            ),
        )
        for v in range(8)
    ]
    listed = []
    for place in range(40):
        start = dice.uniform(0, 35)
        candidate = Candidate(
            dice.choice(POLARITIES), start, start + dice.uniform(1, 20), 1 - place / 100
        )
        listed.append((str(dice.randrange(8)), candidate))
    found: Found = {one.id: [] for one in videos}
    for name, candidate in dice.sample(listed, len(listed)):
        found[name].append(candidate)
    rows = {(row.metric, row.tiou): row.mean for row in score_rows(videos, found, ONCE)}
    if None in rows.values() or len({c.polarity for _, c in listed}) < 2:
        return
    for threshold in TIOU_THRESHOLDS:
        for metric, value in in_order(videos, listed, threshold).items():
            assert rows[metric, threshold] == pytest.approx(value)
        assert rows["map_best_tie_order", threshold] == rows["map", threshold]


def test_draws_of_videos_are_videos_drawn() -> None:
    """A video that counts twice gives what two copies of it under two names give."""
    found = {
        "a": [
            Candidate("positive", 0, 10, 0.9),
            Candidate("positive", 102, 110, 0.5),
            Candidate("positive", 60, 70, 0.5),
        ],
        "b": [Candidate("positive", 60, 70, 0.7), Candidate("positive", 100, 104, 0.9)],
    }
    drawn = values_of(np.array([[2.0, 1.0], [0.0, 3.0]]), rank(VIDEOS, found, "positive"))
    for row, names in ((0, "aab"), (1, "bbb")):
        copies = [
            TslVideo(f"{name}{i}", "test", 1000.0, VIDEOS["ab".index(name)].segments)
            for i, name in enumerate(names)
        ]
        of_copies = {f"{name}{i}": found[name] for i, name in enumerate(names)}
        expected = values_of(np.ones((1, 3)), rank(copies, of_copies, "positive"))
        for name, value in expected.items():
            assert drawn[name][row] == pytest.approx(value[0]), name


def test_intervals_hold_the_mean_and_come_from_the_seed() -> None:
    videos = [video(str(v), (0, 10, "positive"), (20, 30, "negative")) for v in range(20)]
    found = {
        str(v): [Candidate("positive", 0, 10 if v % 2 else 0.5), Candidate("negative", 20, 30)]
        for v in range(20)
    }
    rows = score_rows(videos, found, Bootstrap(200, seed=1))
    assert rows == score_rows(videos, found, Bootstrap(200, seed=1))
    assert rows != score_rows(videos, found, Bootstrap(200, seed=2))
    recall = next(row for row in rows if row.metric == "recall" and row.tiou is None)
    assert recall.mean == 0.75 and recall.low is not None and recall.high is not None
    assert 0.6 < recall.low < 0.75 < recall.high < 0.9


def test_f2_of_nothing_is_0_and_of_the_undefined_undefined() -> None:
    values = f2(np.array([0.0, 0.5, np.nan]), np.array([0.0, 1.0, 1.0]))
    assert values[0] == 0.0 and values[1] == pytest.approx(2.5 / 3) and np.isnan(values[2])
