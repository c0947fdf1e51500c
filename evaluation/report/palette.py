"""The report's colours: what matplotlib draws with, and the page's variable of each.

    run_ink(0).color        # '#0069b4', in a picture on white
    run_ink(0).variable     # '--plot-run-1', which sections.css sets for light and dark pages

Runs differ in marker too, so that nothing hangs on colour alone. The six are apart for people who
don't see red or green (after Okabe and Ito, darkened where white needs it). A seventh run has the
first one's colour and another marker.
"""

from typing import NamedTuple


class Ink(NamedTuple):
    """color: on white; no two inks share one, because the page finds the variable by it."""

    color: str
    variable: str


class RunInk(NamedTuple):
    """A run's colour, the page's variable of it, and matplotlib's marker with its size."""

    color: str
    variable: str
    marker: str
    marker_points: float


TEXT = Ink("#1c1c1f", "--plot-text")
DIM = Ink("#63636b", "--plot-dim")
LINE = Ink("#d5d5da", "--plot-line")
BAND = Ink("#f2f2f5", "--plot-band")
HEAT = Ink("#1f5fa8", "--plot-heat")
ON_HEAT = Ink("#fffffe", "--plot-on-heat")
MORE = Ink("#c65102", "--plot-more")
LESS = Ink("#2166ad", "--plot-less")
TRUTH = Ink("#c6c6cd", "--plot-truth")

_RUN_COLORS = ("#0069b4", "#d95f02", "#008a63", "#b5539c", "#b58900", "#3a3a3f")
# Of sizes that look alike.
_MARKERS = (("o", 5.5), ("s", 5.2), ("D", 5.0), ("^", 6.4), ("v", 6.4), ("P", 7.4))


def run_ink(position: int) -> RunInk:
    """Of the run at that place, from 0."""
    number = position % len(_RUN_COLORS)
    marker, points = _MARKERS[(position + position // len(_RUN_COLORS)) % len(_MARKERS)]
    return RunInk(_RUN_COLORS[number], f"--plot-run-{number + 1}", marker, points)


def variables() -> dict[str, str]:
    """Colour -> variable, for all of the above."""
    inks = (TEXT, DIM, LINE, BAND, HEAT, ON_HEAT, MORE, LESS, TRUTH)
    found = {ink.color: ink.variable for ink in inks}
    found.update({run_ink(at).color: run_ink(at).variable for at in range(len(_RUN_COLORS))})
    return found
