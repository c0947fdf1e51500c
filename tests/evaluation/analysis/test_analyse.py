"""The whole analysis: counts, intervals, and its file."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from evaluation.analysis.analyse import analyse
from evaluation.analysis.document import Analysis, Share, read_analysis, write_analysis
from evaluation.analysis.shares import ShareTable
from evaluation.metrics import PROTOCOLS, Bootstrap, score_clips
from tests.evaluation.analysis.drawn import Written, load, written_clips

TWO = [[0, 4, "Joy"], [4, 8, "Fear"]]
MIXED: list[Written] = [
    ("a", TWO, TWO),
    ("b", TWO, [[0, 8, "Joy"]]),
    ("c", TWO, [[0, 3, "Relief"], [3, 8, "Fear"]]),
    ("d", TWO, "no"),
    ("e", [[0, 12, "Horror"]], None),
]


def shares_of(document: Analysis) -> list[Share]:
    return [
        *(
            share
            for row in document.emotions
            for share in (row.precision, row.recall, row.f1, row.mean_tiou)
        ),
        *document.boundaries.within.values(),
        *(
            share
            for breakdown in document.breakdowns
            for group in breakdown.groups
            for share in group.metrics.values()
        ),
    ]


def test_the_share_of_one_column_is_that_of_a_slow_loop() -> None:
    above, below = [0.5, 2.0, 0.0, 0.0, 1.0], [1.0, 3.0, 0.0, 2.0, 1.0]
    table = ShareTable(5)
    first = table.add(np.ones((5, 2)), np.ones((5, 2)))
    second = table.add(np.array([above]).T, np.array([below]).T)
    shares = table.shares(Bootstrap(300, seed=3))
    assert [share.mean for share in shares[first]] == [1.0, 1.0]
    (share,) = shares[second]
    draws = np.random.default_rng(3).integers(0, 5, size=(300, 5)).tolist()
    slow = [
        sum(above[clip] for clip in row) / sum(below[clip] for clip in row)
        for row in draws
        if sum(below[clip] for clip in row)
    ]
    assert (share.mean, share.numerator, share.denominator) == (0.5, 3.5, 7.0)
    assert (share.low, share.high) == pytest.approx(tuple(np.quantile(slow, [0.025, 0.975])))


def test_no_denominator_is_no_value() -> None:
    table = ShareTable(2)
    table.add(np.zeros((2, 1)), np.zeros((2, 1)))
    ((share,),) = table.shares(Bootstrap(10))
    assert share == Share(mean=None, low=None, high=None, numerator=0.0, denominator=0.0)


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_counts_are_those_of_the_scores(protocol: str) -> None:
    truths, clips = load(MIXED)
    document = analyse(truths, clips, protocol, Bootstrap(50))
    rows = score_clips(clips, [protocol], Bootstrap(50))
    counts = (document.num_scored, document.num_unparsed, document.num_missing)
    assert counts == (rows[0].num_scored, rows[0].num_unparsed, rows[0].num_missing) == (3, 1, 1)
    assert document.protocol == protocol
    places = sum(map(sum, document.confusion.counts))
    (group,) = [
        group
        for breakdown in document.breakdowns
        if breakdown.by == "genre"
        for group in breakdown.groups
    ]
    assert group.metrics["miou_segment"].denominator == places
    for row in rows:
        share = group.metrics[row.metric]
        assert share.mean == row.mean
        if share.low is not None:
            assert (share.low, share.high) == pytest.approx((row.low, row.high), abs=1e-12)


def test_same_seed_same_document_other_seed_other_intervals() -> None:
    truths, clips = load(MIXED)
    first = analyse(truths, clips, bootstrap=Bootstrap(50, seed=1))
    assert first == analyse(truths, clips, "strict", Bootstrap(50, seed=1))
    assert first != analyse(truths, clips, "strict", Bootstrap(50, seed=2))


def test_mistakes() -> None:
    truths, clips = load(MIXED)
    with pytest.raises(ValueError, match="no protocol called 'papr'"):
        analyse(truths, clips, "papr")
    with pytest.raises(ValueError, match="no clip to analyse"):
        analyse([], [])


def test_file_round_trip_and_what_is_none(tmp_path: Path) -> None:
    documents = [analyse(*load(MIXED), name, Bootstrap(20)) for name in PROTOCOLS]
    path = tmp_path / "analysis" / "test.json"
    path.parent.mkdir()
    write_analysis(path, documents)
    assert read_analysis(path) == documents
    path.write_text('[{"protocol": "strict"}]', encoding="utf-8")
    with pytest.raises(ValueError, match=r"test\.json: not an analysis"):
        read_analysis(path)


@given(written_clips())
@settings(max_examples=25, deadline=None)
def test_any_clips_give_a_document_whose_shares_are_shares(written: list[Written]) -> None:
    truths, clips = load(written)
    for protocol in PROTOCOLS:
        document = analyse(truths, clips, protocol, Bootstrap(20))
        assert document.num_scored + document.num_unparsed + document.num_missing == len(clips)
        assert Analysis.model_validate_json(document.model_dump_json()) == document
        for share in shares_of(document):
            if share.mean is None:
                assert (share.low, share.high, share.denominator) == (None, None, 0)
            else:
                assert 0 <= share.numerator <= share.denominator + 1e-9
                assert share.mean == share.numerator / share.denominator
                if share.low is not None and share.high is not None:
                    assert -1e-12 <= share.low <= share.high <= 1 + 1e-12


def test_means_lie_in_their_intervals_where_clips_are_many() -> None:
    """Not so where few clips are drawn from: percentiles of a skewed handful may miss the mean."""
    truths, clips = load([(f"{one[0]}{n}", one[1], one[2]) for n in range(40) for one in MIXED])
    shares = shares_of(analyse(truths, clips, bootstrap=Bootstrap(400)))
    known = [share for share in shares if share.mean is not None]
    assert len(known) > 40
    for share in known:
        assert share.mean is not None and share.low is not None and share.high is not None
        assert share.low - 1e-9 <= share.mean <= share.high + 1e-9
