"""Long enough exactly and as written, and which cut a time in one decimal means."""

import pytest

from data_prep.records import Cut
from data_prep.stages.lengths import are_long_enough, cut_at, is_long_enough


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0.0, 0.4, True),
        (0.0, 0.39, False),
        (1.9, 2.3, True),  # 0.3999999999999999 in binary
        (0.45, 0.85, False),  # written 0.5 (0.45 is a little more) to 0.8 (0.85 a little less)
        (0.44, 0.86, True),  # written 0.4 to 0.9
        (3.06, 3.54, True),  # .48 exactly, 3.1 to 3.5 as written
        (3.06, 3.45, False),  # .39 exactly, 3.1 to 3.5 as written
        (1.04, 1.36, False),  # .32 exactly, 1.0 to 1.4 as written
        (2.0, 1.0, False),
        (0.35, 0.84, True),  # 0.35 is a little less in binary: 0.3 to 0.8
    ],
)
def test_is_long_enough(start: float, end: float, expected: bool) -> None:
    assert is_long_enough(start, end) is expected


def test_all_spans_count() -> None:
    assert are_long_enough((0.0, 1.0, 2.0))
    assert not are_long_enough((0.0, 1.0, 1.2, 2.0))
    assert not are_long_enough((0.0, 2.0, 1.0))


def test_the_cut_that_a_time_means() -> None:
    cuts = [Cut(time_seconds=time, kind="cut") for time in (3.0333, 3.08, 5.0)]
    assert cut_at(cuts, 3.0) == cuts[0]
    assert cut_at(cuts, 3.07) == cuts[1]
    assert cut_at(cuts, 4.95) == cuts[2]
    assert cut_at(cuts, 4.94) is None
    assert cut_at([], 1.0) is None
