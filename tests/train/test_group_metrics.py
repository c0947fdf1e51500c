"""Within-group spread against a slow reference, and with what is not scored left out."""

import math
import statistics

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from train.group_metrics import group_spread

NAN = math.nan


def spread(rewards: list[list[float]], weights: list[float], num_generations: int) -> list[float]:
    return group_spread(torch.tensor(rewards), torch.tensor(weights), num_generations)


def slow_spread(
    rewards: list[list[float]], weights: list[float], num_generations: int
) -> list[float]:
    """Column by column, group by group, in plain Python."""
    totals = []
    for values in rewards:
        known = [w * v for w, v in zip(weights, values, strict=True) if not math.isnan(v)]
        totals.append(sum(known) if known else NAN)
    columns = [[values[term] for values in rewards] for term in range(len(weights))]
    means = []
    for column in [*columns, totals]:
        deviations = []
        for start in range(0, len(column), num_generations):
            group = column[start : start + num_generations]
            scored = [value for value in group if not math.isnan(value)]
            if len(scored) > 1:
                deviations.append(statistics.stdev(scored))
        means.append(statistics.fmean(deviations) if deviations else NAN)
    return means


def test_two_groups_in_literal_numbers() -> None:
    found = spread([[1.0], [0.5], [0.5], [0.0], [0.2], [0.2], [0.2], [0.2]], [1.0], 4)
    assert found == pytest.approx([0.2041241, 0.2041241])  # .4082483 and 0


def test_the_total_is_weighted_and_may_differ_where_terms_do_not() -> None:
    # The terms cancel: .5 x 1 + .5 x 0 is .5 x 0 + .5 x 1.
    assert spread([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5], 2) == pytest.approx([0.7071068] * 2 + [0.0])
    found = spread([[1.0, 0.0], [0.0, 1.0]], [0.75, 0.25], 2)
    assert found == pytest.approx([0.7071068, 0.7071068, 0.3535534])


def test_a_missing_value_is_left_out_and_not_0() -> None:
    assert spread([[1.0], [NAN], [0.0], [0.5]], [1.0], 4) == pytest.approx([0.5, 0.5])
    # A group with one scored member has no spread to tell; it is left out of the mean.
    found = spread([[1.0], [NAN], [0.0], [1.0]], [1.0], 2)
    assert found == pytest.approx([0.7071068, 0.7071068])


def test_nothing_scored_is_nan_and_not_0() -> None:
    assert all(math.isnan(value) for value in spread([[NAN], [NAN]], [1.0], 2))
    assert all(math.isnan(value) for value in spread([[0.3], [NAN]], [1.0], 2))
    assert all(math.isnan(value) for value in spread([[0.3], [0.4]], [1.0], 1))


def test_a_row_without_one_term_still_has_a_total() -> None:
    found = spread([[1.0, NAN], [0.0, 1.0]], [0.5, 0.5], 2)
    assert found[0] == pytest.approx(0.7071068)
    assert math.isnan(found[1])
    assert found[2] == pytest.approx(0.0)  # .5 and .5


VALUES = st.one_of(st.just(NAN), st.floats(0, 1, width=32), st.sampled_from([0.0, 0.5, 1.0]))


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[list[float]], list[float], int]:
    num_terms, size = draw(st.integers(1, 5)), draw(st.integers(2, 5))
    num_rows = size * draw(st.integers(1, 4))
    row = st.lists(VALUES, min_size=num_terms, max_size=num_terms)
    rewards = draw(st.lists(row, min_size=num_rows, max_size=num_rows))
    weights = draw(st.lists(st.floats(0, 1, width=32), min_size=num_terms, max_size=num_terms))
    return rewards, weights, size


@given(batches())
@settings(deadline=None)
def test_equal_to_the_slow_reference(batch: tuple[list[list[float]], list[float], int]) -> None:
    found, expected = spread(*batch), slow_spread(*batch)
    assert len(found) == len(batch[1]) + 1
    assert found == pytest.approx(expected, abs=1e-5, nan_ok=True)
