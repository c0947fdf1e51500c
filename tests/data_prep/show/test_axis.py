"""The time axis: positions, ticks and colours."""

import re
from pathlib import Path

import pytest

from affect.emotion_colors import emotion_color
from data_prep.show.axis import _tick_step, _x, draw_axis
from data_prep.show.story import read_story
from tests.data_prep.show.written_build import write_build


@pytest.mark.parametrize(
    ("duration", "step"),
    [(0.4, 0.05), (1.0, 0.1), (8.0, 1.0), (12.0, 1.0), (14.3, 2.0), (60.0, 5.0), (600.0, 50.0)],
)
def test_at_most_twelve_round_ticks(duration: float, step: float) -> None:
    assert _tick_step(duration) == pytest.approx(step)


def test_bars_stand_where_their_seconds_are(tmp_path: Path) -> None:
    folder = write_build(tmp_path / "build", tmp_path / "videos")
    svg = draw_axis(read_story(folder, "birds.mp4"))
    assert (_x(0.0, 8.0), _x(8.0, 8.0)) == (90, 970)
    # 3 of 8 s: 90 + 880 * 3 / 8.
    bars = re.findall(r'<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)"', svg)
    final = [(x, width) for x, y, width in bars if y == "110"]
    assert final == [("90.0", "328.5"), ("420.0", "548.5")]
    assert f'fill="{emotion_color("Joy")}"' in svg and ">Joy</text>" in svg
    assert 'class="cut" x1="420.0"' in svg and 'class="fade" x1="750.0"' in svg
