"""What each quirk of the released script does to its scores, in literal numbers."""

import json
from pathlib import Path
from typing import Any

import pytest

from affect.records import read_rows
from evaluation.clips import load_clips, read_truths
from evaluation.metrics import Clip, make_clip, score_clips
from evaluation.metrics.released import hull_iou, score_clip
from evaluation.predictions import read_predictions
from tests.evaluation.files import reply, sft_row, write_lines, write_predictions
from tests.evaluation.metrics.test_protocols import timeline

TWO = timeline([[0, 5, "Joy"], [5, 10, "Fear"]], 10.0)
FOUR = timeline([[0, 2, "Joy"], [2, 4, "Fear"], [4, 6, "Joy"], [6, 10, "Fear"]], 10.0)


def means(*clips: Clip, protocol: str = "released") -> dict[str, float | None]:
    return {row.metric: row.mean for row in score_clips(clips, [protocol])}


def released(truth: Any, spans: list[list[Any]]) -> dict[str, float | None]:
    return means(make_clip("a", truth, reply(spans)))


def test_pairs_are_by_index_so_one_spurious_leading_segment_drops_one_to_a_tenth() -> None:
    perfect = released(TWO, [[0, 5, "Joy"], [5, 10, "Fear"]])
    shifted = released(TWO, [[0, 1, "Interest"], [1, 5, "Joy"], [5, 10, "Fear"]])
    assert (perfect["miou_segment"], perfect["emo_acc"]) == (1.0, 1.0)
    assert (shifted["miou_segment"], shifted["emo_acc"]) == (pytest.approx(0.1), 0.0)


def test_missing_and_extra_segments_cost_nothing_but_the_count() -> None:
    one = score_clip(make_clip("a", FOUR, reply([[0, 10, "Joy"]])))
    assert (len(one.pairs), one.num_predicted, one.num_truth) == (1, 1, 4)
    extra = released(TWO, [[0, 5, "Joy"], [5, 10, "Fear"], [10, 10, "Relief"]])
    assert (extra["miou_segment"], extra["emo_acc"], extra["sc_acc"]) == (1.0, 1.0, 0.0)


def test_one_whole_video_segment_of_the_first_emotion_has_accuracy_one() -> None:
    found = released(FOUR, [[0, 10, "Joy"]])
    assert (found["emo_acc"], found["miou_segment"]) == (1.0, 0.2)
    assert means(make_clip("a", FOUR, reply([[0, 10, "Joy"]])), protocol="strict")["emo_acc"] == 0.0


def test_pairs_of_all_clips_are_pooled() -> None:
    """One clip with one pair at 1.0, one with three at .2, 0 and 2/9.2: four pairs, two clips."""
    one = timeline([[0, 10, "Joy"]], 10.0)
    clips = (
        make_clip("a", one, one.to_json()),
        make_clip("b", FOUR, reply([[0, 0.4, "Joy"], [0.4, 0.8, "Fear"], [0.8, 10, "Joy"]])),
    )
    found = means(*clips)
    assert found["miou_segment"] == pytest.approx((1.0 + 0.2 + 0.0 + 2 / 9.2) / 4)
    assert found["miou_video"] == pytest.approx((1.0 + (0.2 + 0.0 + 2 / 9.2) / 3) / 2)
    assert found["emo_acc"] == 1.0


def test_failures_are_left_out_of_every_mean() -> None:
    good = make_clip("a", TWO, TWO.to_json())
    lost = [make_clip(str(index), TWO, "I see nothing.") for index in range(8)]
    rows = score_clips([good, *lost, make_clip("m", TWO, None)], ["released"])
    assert {row.mean for row in rows} == {1.0}
    assert {(row.num_scored, row.num_unparsed, row.num_missing) for row in rows} == {(1, 8, 1)}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"emotion": None}, id="emotion null"),
        pytest.param({"end_time": "5"}, id="time in quotes"),
    ],
)
def test_one_null_emotion_or_time_in_quotes_loses_the_video(fault: dict[str, Any]) -> None:
    segments = json.loads(TWO.to_json())["segments"]
    segments[0].update(fault)
    clips = [
        make_clip("a", TWO, json.dumps({"segments": segments})),
        make_clip("b", TWO, reply([[0, 5, "Joy"], [5, 10, "Anger"]])),
    ]
    assert means(*clips)["emo_acc"] == 0.5
    assert score_clips(clips, ["released"])[0].num_unparsed == 1


def test_accuracy_at_a_tiou_is_conditional() -> None:
    """A wrong label counts less the worse its segment is placed."""
    well_placed = released(TWO, [[0, 5, "Joy"], [5, 10, "Anger"]])
    badly_placed = released(TWO, [[0, 9, "Joy"], [9, 10, "Anger"]])
    assert (well_placed["emo_acc_given_iou_0.5"], well_placed["emo_acc_at_0.5"]) == (0.5, 0.5)
    assert (badly_placed["emo_acc_given_iou_0.5"], badly_placed["emo_acc_at_0.5"]) == (1.0, 0.5)
    nowhere = released(TWO, [[0, 1, "Joy"], [1, 2, "Fear"], [2, 10, "Joy"]])
    assert (nowhere["emo_acc_given_iou_0.5"], nowhere["emo_acc_at_0.5"]) == (None, 0.0)


def test_the_hull_never_differs_from_the_union_in_a_score() -> None:
    """Where intervals do not meet the hull is longer, but nothing is divided by it."""
    truth = timeline([[0, 5, "Joy"]], 5.0).segments[0]
    for start, end, tiou in [(5, 6, 0.0), (7, 9, 0.0), (4, 6, 1 / 6), (1, 2, 0.2)]:
        assert hull_iou({"start_time": start, "end_time": end}, truth) == pytest.approx(tiou)


def test_not_a_number_for_all_times_has_no_overlap_but_its_labels() -> None:
    nan = float("nan")
    found = released(TWO, [[nan, nan, "Joy"], [nan, nan, "Fear"]])
    assert (found["sc_acc"], found["miou_segment"], found["emo_acc"]) == (1.0, 0.0, 1.0)
    # The first start becomes 0 and the last end the duration only where it is measurably off.
    half = released(TWO, [[nan, 5, "Joy"], [nan, 10, "Fear"]])
    assert (half["miou_segment"], half["emo_acc"]) == (1.0, 1.0)
    for protocol in ("paper", "strict"):
        clip = make_clip("a", TWO, reply([[nan, 5, "Joy"], [nan, 10, "Fear"]]))
        assert means(clip, protocol=protocol)["emo_acc"] == 0.0


def test_an_end_before_its_start_has_no_overlap_but_a_label() -> None:
    truth = timeline([[0, 4, "Joy"], [4, 5, "Fear"]], 5.0)
    score = score_clip(make_clip("a", truth, reply([[0, 9, "Joy"], [1, 5, "Fear"]])))
    assert [(one.start_seconds, one.end_seconds) for one in score.predicted] == [(0, 9), (9, 5)]
    assert [pair.tiou for pair in score.pairs] == [pytest.approx(4 / 9), 0.0]
    assert means(make_clip("a", truth, reply([[0, 9, "Joy"], [1, 5, "Fear"]])))["emo_acc"] == 1.0


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("", "Awkwardness"),
        ("or", "Boredom"),
        ("Happy", "Interest"),
        ("Painful", "Interest"),
        ("Anger/Fear", "Fear"),
        ("Disinterest", "Interest"),
    ],
)
def test_a_label_that_is_none_scores_as_another(written: str, right: str) -> None:
    truth = timeline([[0, 8, right]], 8.0)
    clip = make_clip("a", truth, reply([[0, 8, written]]))
    assert means(clip)["emo_acc"] == 1.0
    assert means(clip, protocol="paper")["emo_acc"] == 0.0
    assert means(clip, protocol="strict")["emo_acc"] == 0.0


def test_no_row_lacks_its_duration_so_the_default_of_30_seconds_never_acts(tmp_path: Path) -> None:
    row = sft_row("a", [[0, 8, "Joy"]], 8.0)
    del row["video_duration"]
    with pytest.raises(ValueError, match="video_duration"):
        read_rows(write_lines(tmp_path / "rows.jsonl", [row]))


def test_equal_file_stems_are_two_clips_because_rows_have_ids(tmp_path: Path) -> None:
    """The script would know both as `x` and score the second answer for the first, too."""
    rows = [
        {**sft_row(f"{folder}-x", [[0, 8, label]], 8.0), "video": f"{folder}/x.mp4"}
        for folder, label in (("a", "Joy"), ("b", "Fear"))
    ]
    replies = {"a-x": reply([[0, 8, "Joy"]]), "b-x": reply([[0, 8, "Fear"]])}
    clips = load_clips(
        read_truths(write_lines(tmp_path / "rows.jsonl", rows)),
        read_predictions(write_predictions(tmp_path / "p.jsonl", replies)),
    )
    assert means(*clips)["emo_acc"] == 1.0
    same = [rows[0], {**rows[1], "id": "a-x"}]
    with pytest.raises(ValueError, match="'a-x' stands already on line 1"):
        read_truths(write_lines(tmp_path / "same.jsonl", same))
