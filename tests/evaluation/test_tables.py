"""The table: percent, counts, any number of systems, hostile names."""

import io

import pytest
from rich.console import Console

from evaluation.metrics import DifferenceRow, ScoreRow
from evaluation.tables import metric_title, percent, score_table


def row(metric: str, mean: float | None, protocol: str = "strict") -> ScoreRow:
    low, high = (None, None) if mean is None else (mean - 0.05, mean + 0.05)
    return ScoreRow(protocol, metric, mean, low, high, 97, 2, 1)


def printed(table: object) -> str:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_percent_and_undefined() -> None:
    assert percent(0.57, 0.521, 0.618) == "57.0 [52.1, 61.8]"
    assert percent(-0.043, -0.1, 0.0, "+") == "-4.3 [-10.0, +0.0]"
    assert percent(None, None, None) == "-"
    assert percent(0.5, None, None) == "50.0"


@pytest.mark.parametrize(
    ("protocol", "metric", "title"),
    [
        ("strict", "emo_acc", "Emo-Acc"),
        ("released", "emo_acc", "Emo-Acc at any IoU"),
        ("strict", "emo_acc_at_0.3", "Emo-Acc at tIoU .3"),
        ("released", "emo_acc_given_iou_0.9", "Emo-Acc given IoU .9"),
        ("strict", "valid_json", "valid JSON"),
    ],
)
def test_titles(protocol: str, metric: str, title: str) -> None:
    assert metric_title(protocol, metric) == title


def test_three_systems_with_a_difference() -> None:
    scores = {
        name: [row("sc_acc", mean), row("emo_acc", None)]
        for name, mean in [("base", 0.1), ("SFT", 0.5), ("GRPO", 0.6)]
    }
    change = DifferenceRow("strict", "sc_acc", "SFT", "GRPO", 0.1, 0.02, 0.18, 100)
    lines = printed(score_table(scores, [change])).splitlines()
    assert [name in lines[1] for name in ("base", "SFT", "GRPO", "GRPO minus SFT")] == [True] * 4
    assert "10.0 [5.0, 15.0]" in lines[3] and "60.0 [55.0, 65.0]" in lines[3]
    assert "+10.0 [+2.0, +18.0]" in lines[3]
    assert lines[5].count("97 / 2 / 1") == 3


def test_caption_says_how_failures_enter() -> None:
    rows = [row("sc_acc", 0.5, protocol) for protocol in ("paper", "released", "strict")]
    text = " ".join(printed(score_table({"x": rows})).split())
    assert "count as 0 in paper, strict; left out in released" in text


def test_a_name_is_text_not_markup() -> None:
    assert "[red]boo[/]" in printed(score_table({"[red]boo[/]": [row("sc_acc", 0.5)]}))


def test_systems_must_have_the_same_rows() -> None:
    with pytest.raises(ValueError, match="B has no row for emo_acc under strict"):
        score_table({"A": [row("emo_acc", 0.5)], "B": [row("sc_acc", 0.5)]})
