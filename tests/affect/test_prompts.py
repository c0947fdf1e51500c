"""The rendered prompt is frozen: whoever changes it changes the snapshot and sees the hash move."""

import math
from pathlib import Path

import pytest

from affect.prompts import load_prompt, prompt_hash, prompt_names, render_segment_prompt
from affect.taxonomy import DAR_EMOTIONS

SNAPSHOT = Path(__file__).parent / "snapshots" / "segment.txt"


def test_segment_prompt_snapshot() -> None:
    assert render_segment_prompt(5.28) + "\n" == SNAPSHOT.read_text(encoding="utf-8")


def test_segment_prompt_hash() -> None:
    assert prompt_hash("segment") == (
        "c29aa784b62aa5dde559688a709156a25c444fcde55cf3cbbe6a0f32b40f87c7"
    )


def test_each_label_stands_once() -> None:
    text = render_segment_prompt(9.0)
    listed = text.split('"emotion" is one of: ')[1].split(".\n")[0]
    assert tuple(listed.split(", ")) == DAR_EMOTIONS
    assert "$" not in text


@pytest.mark.parametrize(
    ("duration", "written"),
    [(9.0, "9.0"), (5.28, "5.3"), (0.06, "0.1"), (39.94, "39.9"), (60, "60.0")],
)
def test_duration_has_one_decimal(duration: float, written: str) -> None:
    text = render_segment_prompt(duration)
    assert text.startswith(f"You watch a silent video of {written} seconds.")
    assert f"the last ends at {written}." in text


@pytest.mark.parametrize("duration", [0.0, 0.04, -3.0, math.nan, math.inf])
def test_a_duration_that_cannot_be_segmented(duration: float) -> None:
    with pytest.raises(ValueError, match="cannot be segmented"):
        render_segment_prompt(duration)


def test_names() -> None:
    assert "segment" in prompt_names()
    assert not load_prompt("segment").endswith("\n")
    for name in ("segments", "../segment", "segment.txt", ""):
        with pytest.raises(ValueError, match=r"there is no prompt .* segment"):
            load_prompt(name)
