"""The table of the 27, the policies for the open ones, and that the documentation shows both."""

from pathlib import Path

import pytest

from affect.taxonomy import DAR_EMOTIONS
from evaluation.suites.tsl300.__main__ import main
from evaluation.suites.tsl300.mapping import mapping_markdown
from evaluation.suites.tsl300.polarity import (
    OPEN_EMOTIONS,
    POLARITY_TABLE,
    open_policy,
    polarities,
)
from tests.paths import ROOT


def test_every_emotion_has_a_side() -> None:
    assert tuple(POLARITY_TABLE) == DAR_EMOTIONS
    sides = [side for side, _ in POLARITY_TABLE.values()]
    assert (sides.count("positive"), sides.count("negative"), sides.count("open")) == (13, 7, 7)
    assert OPEN_EMOTIONS == (
        "Awkwardness", "Boredom", "Confusion", "Entrancement", "Interest", "Nostalgia", "Surprise",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("background", set()),
        ("positive", {"positive"}),
        ("negative", {"negative"}),
        ("both", {"positive", "negative"}),
    ],
)
def test_policies_touch_the_open_ones_only(policy: str, expected: set[str]) -> None:
    sides = polarities(open_policy(policy))
    assert set(sides) == set(DAR_EMOTIONS)
    assert all(sides[emotion] == expected for emotion in OPEN_EMOTIONS)
    assert sides["Joy"] == {"positive"} and sides["Fear"] == {"negative"}


def test_a_file_maps_them_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "open.yaml"
    path.write_text("Surprise: positive\nBoredom: negative\nInterest: both\n")
    sides = polarities(open_policy(str(path)))
    assert sides["Surprise"] == {"positive"} and sides["Boredom"] == {"negative"}
    assert sides["Interest"] == {"positive", "negative"} and sides["Confusion"] == set()
    assert open_policy(str(path)).name == "open.yaml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Joy: negative\n", "open.yaml:1: Joy: is not open"),
        ("Surprise: positive\nHappy: positive\n", "open.yaml:2: Happy: is not open"),
        ("Surprise: neutral\n", "Surprise: one of background, positive, negative, both"),
        ("Surprise: [positive]\n", "Surprise: one of background"),
        ("- Surprise\n", "expected a mapping"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "open.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        open_policy(str(path))


def test_no_such_policy() -> None:
    with pytest.raises(ValueError, match="'neutral' is neither one of background, positive"):
        open_policy("neutral")


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mapping", "--markdown", "--open", "both"]) == 0
    printed = capsys.readouterr().out
    assert "| Joy | positive | gladness |" in printed
    assert "| Surprise | open: both | the unexpected, good or bad |" in printed
    assert main(["mapping"]) == 0
    assert "open: background" in capsys.readouterr().out


def test_the_documentation_shows_the_table() -> None:
    pages = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))]
    assert sum(mapping_markdown(open_policy()) in page for page in pages) == 1
