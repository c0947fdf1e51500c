"""Equation 5 by hand: exp(-|N_pred - N_gt| / 1.5) against a truth of two segments."""

import pytest

from rewards import count
from tests.rewards.builders import compare, times


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (times(0.0, 3.0, 9.0), 1.0),
        (times(0.0, 9.0), 0.5134171190),  # exp(-1/1.5)
        (times(0.0, 3.0, 6.0, 9.0), 0.5134171190),
        (times(0.0, 2.0, 4.0, 6.0, 9.0), 0.2635971381),  # exp(-2/1.5)
        ("", 0.0),  # not exp(-2/1.5): nothing was read
        ('{"segments": []}', 0.0),
    ],
)
def test_equation_5(text: str, expected: float) -> None:
    assert count.paper(compare(text)) == pytest.approx(expected, abs=1e-9)
    assert count.hardened(compare(text)) == pytest.approx(expected, abs=1e-9)


def test_only_the_paper_counts_what_fails_the_strict_parse() -> None:
    fenced = f"```json\n{times(0.0, 3.0, 9.0)}\n```"
    assert count.paper(compare(fenced)) == 1.0
    assert count.hardened(compare(fenced)) == 0.0
