"""Equation 4 by hand: .5 for the form, .2 for the segments' length, .3 * psi_len."""

import math

import pytest

from rewards import structure
from tests.rewards.builders import FEAR, JOY, TRUTH, compare, reply_text, timeline, times

VALID = times(0.0, 4.0, 9.0)


@pytest.mark.parametrize(
    ("num_tokens", "expected"),
    [
        (0, 1.0),
        (1200, 1.0),  # n - 1200 = 0
        (1201, 0.9975031224),  # exp(-1/400)
        (1600, 0.3678794412),  # exp(-400/400)
        (2000, 0.1353352832),  # exp(-800/400)
        (2399, 0.0499116918),  # exp(-1199/400) = exp(-2.9975)
        (2400, 0.0),  # from L_hard on
        (1_000_000, 0.0),
    ],
)
def test_length_factor(num_tokens: int, expected: float) -> None:
    assert structure.length_factor(num_tokens) == pytest.approx(expected, abs=1e-9)


def test_length_in_tokens_is_never_guessed() -> None:
    for term in (structure.paper, structure.hardened):
        for text in (VALID, ""):
            with pytest.raises(ValueError, match="num_tokens"):
                term(compare(text, num_tokens=None))


@pytest.mark.parametrize(
    ("text", "num_tokens", "expected"),
    [
        (VALID, 300, 1.0),  # .5 + .2 + .3
        (VALID, 1600, 0.8103638324),  # .5 + .2 + .3 * .3678794412
        (VALID, 2400, 0.7),  # .5 + .2 + 0
        (f"```json\n{VALID}\n```", 300, 0.5),  # 0 + .2 + .3: a fence is not the schema
        (times(0.0, 2.7, 3.0, 9.0), 300, 0.8),  # .5 + 0 + .3: [2.7, 3.0] lasts .3 s
        (times(0.0, 2.7, 3.1, 9.0), 300, 1.0),  # 3.1 - 2.7 is .4 s, though not in floats
        (times(0.0, 4.0, 8.0), 300, 0.5),  # 0 + .2 + .3: ends a second early
        (reply_text((4.0, 0.0, "Joy", JOY), (4.0, 9.0, "Fear", FEAR)), 300, 0.3),  # reversed
        ("", 300, 0.3),  # no segment: the product does not count as 1
        ('{"segments": []}', 2400, 0.0),
    ],
)
def test_equation_4(text: str, num_tokens: int, expected: float) -> None:
    assert structure.paper(compare(text, num_tokens=num_tokens)) == pytest.approx(expected)


def test_three_tenths_and_four_tenths_are_told_apart_in_floats() -> None:
    assert 3.1 - 2.7 < 0.4  # the trap that the rounding allowance is for
    assert structure.paper(compare(times(0.0, 2.7, 3.1, 9.0))) == 1.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (VALID, 1.0),
        (times(0.0, 2.7, 3.0, 9.0), 0.8),
        (f"```json\n{VALID}\n```", 0.0),
        (times(0.0, 4.0, 8.0), 0.0),
        ("", 0.0),
    ],
)
def test_hardened_pays_nothing_without_the_strict_parse(text: str, expected: float) -> None:
    assert structure.hardened(compare(text)) == pytest.approx(expected)


def test_hardened_lets_a_truth_with_a_short_segment_pass() -> None:
    truth = timeline((0.0, 0.3, "Joy", JOY), (0.3, 9.0, "Fear", FEAR))
    assert structure.paper(compare(truth.to_json(), truth)) == pytest.approx(0.8)
    assert structure.hardened(compare(truth.to_json(), truth)) == 1.0
    shorter = times(0.0, 0.2, 9.0)
    assert structure.hardened(compare(shorter, truth)) == pytest.approx(0.8)
    assert structure.hardened(compare(shorter, TRUTH)) == pytest.approx(0.8)


def test_shares_of_equation_4_add_up() -> None:
    shares = (
        structure.PAPER.format_share,
        structure.PAPER.duration_share,
        structure.PAPER.length_share,
    )
    assert shares == (0.5, 0.2, 0.3)
    assert math.fsum(shares) == 1.0
