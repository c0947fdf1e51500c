"""The table: percent, counts, any number of systems, hostile names."""

import io

import pytest
from rich.console import Console

from evaluation.metrics import DifferenceRow, ScoreRow
from evaluation.tables import (
    ALL_METRICS,
    HEADLINE_METRICS,
    choose_metrics,
    metric_title,
    percent,
    points,
    score_table,
)


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
    # What rounds to nothing has no sign of its own.
    assert percent(-1e-5, -1e-9, 0.1, "+") == "+0.0 [+0.0, +10.0]"
    assert points(3.414, 3.2, 3.62) == "3.41 [3.20, 3.62]"
    assert points(None, None, None) == "-"
    assert points(5, None, None) == "5.00", "too few draws for an interval"


@pytest.mark.parametrize(
    ("protocol", "metric", "title"),
    [
        ("strict", "emo_acc", "Emo-Acc"),
        ("released", "emo_acc", "Emo-Acc at any IoU"),
        ("strict", "emo_acc_at_0.3", "Emo-Acc at tIoU .3, of all places"),
        ("released", "emo_acc_at_0.3", "Emo-Acc at tIoU .3, of all places"),
        ("strict", "emo_acc_given_iou_0.9", "Emo-Acc of places with tIoU .9"),
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
    change = DifferenceRow("strict", "sc_acc", "SFT", "GRPO", 0.1, 0.02, 0.18, 100, 0.993)
    lines = printed(score_table(scores, [change])).splitlines()
    assert [name in lines[1] for name in ("base", "SFT", "GRPO", "GRPO minus SFT")] == [True] * 4
    assert "10.0 [5.0, 15.0]" in lines[3] and "60.0 [55.0, 65.0]" in lines[3]
    assert "+10.0 [+2.0, +18.0]" in lines[3] and lines[3].rstrip(" │").endswith("99.3")
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


def test_headline_metrics_by_default_others_on_demand() -> None:
    rows = [row("sc_acc", 0.5), row("emo_acc_at_0.9", 0.5), row("emo_acc_given_iou_0.9", 0.5)]
    headline = printed(score_table({"x": rows}))
    assert "SC-Acc" in headline and "of all places" not in headline
    every = printed(score_table({"x": rows}, metrics=ALL_METRICS))
    assert "tIoU .9, of all places" in every and "of places with tIoU .9" in every
    with pytest.raises(ValueError, match="no scores of valid_json"):
        score_table({"x": rows}, metrics=["valid_json"])


def test_older_score_files_without_the_newer_metrics_stay_comparable() -> None:
    older = [row("sc_acc", 0.5)]
    newer = [row("sc_acc", 0.6), row("emo_acc_given_iou_0.9", 0.5)]
    assert "60.0 [55.0, 65.0]" in printed(score_table({"older": older, "newer": newer}))


def test_choosing_metrics() -> None:
    assert len(ALL_METRICS) == 14 and set(HEADLINE_METRICS) < set(ALL_METRICS)
    assert choose_metrics(None) == HEADLINE_METRICS
    assert choose_metrics(None, all_metrics=True) == ALL_METRICS
    assert choose_metrics(["emo_acc", "sc_acc"], all_metrics=True) == ("sc_acc", "emo_acc")
    with pytest.raises(ValueError, match="no metric called 'f1'; there are sc_acc, miou_segment"):
        choose_metrics(["f1"])
