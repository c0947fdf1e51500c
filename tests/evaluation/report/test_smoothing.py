"""Running means of a training log."""

import pytest

from evaluation.report.smoothing import Curve, curve_of, smoothed, window_steps


def test_values_that_are_not_there_are_no_zeros() -> None:
    log = [{"step": 1, "kl": 0.5}, {"step": 2, "kl": None}, {"step": 3}, {"step": 4, "kl": 0.25}]
    assert curve_of(log, "kl", 100) == Curve((1, 4), (50.0, 25.0))
    assert curve_of(log, "reward", 1) == Curve((), ())


def test_short_curves_are_left_as_they_are() -> None:
    curve = Curve((1, 2, 3), (0.0, 9.0, 0.0))
    assert window_steps(curve) == 1 and smoothed(curve) == [0.0, 9.0, 0.0]


def test_means_are_centred_and_use_what_there_is_at_the_end() -> None:
    curve = Curve(tuple(range(30)), tuple(float(10 * at) for at in range(30)))
    assert window_steps(curve) == 3
    means = smoothed(curve)
    assert means[0] == 0 and means[-1] == 285
    assert means[1:-1] == pytest.approx(curve.values[1:-1])


@pytest.mark.parametrize(("num", "window"), [(0, 1), (19, 1), (20, 3), (40, 5), (600, 61)])
def test_the_window_is_odd_and_a_tenth(num: int, window: int) -> None:
    assert window_steps(Curve(tuple(range(num)), (0.0,) * num)) == window
