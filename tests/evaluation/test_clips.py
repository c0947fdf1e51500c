"""Rows and predictions joined to clips."""

from pathlib import Path

import pytest

from evaluation.clips import load_clips, read_truths
from evaluation.predictions import read_predictions
from tests.evaluation.files import reply, write_predictions, write_rows
from tests.paths import SHARED, needs_shared

SPANS = [[0, 4, "Joy"], [4, 8, "Fear"]]


def test_missing_and_failed_rows_have_no_reply(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", dict.fromkeys("abc", SPANS))
    path = write_predictions(tmp_path / "p.jsonl", {"c": None, "a": reply(SPANS)})
    clips = load_clips(read_truths(rows), read_predictions(path))
    assert [(clip.id, clip.reply is None) for clip in clips] == [
        ("a", False),
        ("b", True),
        ("c", True),
    ]


def test_an_unknown_id_is_refused_by_line(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", {"a": SPANS})
    path = write_predictions(tmp_path / "p.jsonl", {"a": "x", "z": "x"})
    with pytest.raises(ValueError, match=r"p\.jsonl:3: id 'z' is not among the rows"):
        load_clips(read_truths(rows), read_predictions(path))


def test_rows_without_truth_are_refused(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", {"a": SPANS, "b": None})
    with pytest.raises(ValueError, match="row 'b' has no annotated timeline"):
        read_truths(rows)


def test_an_empty_rows_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no row in it"):
        read_truths(write_rows(tmp_path / "rows.jsonl", {}))


@needs_shared
def test_annotated_real_clips_scored_against_themselves(tmp_path: Path) -> None:
    from affect.records import read_rows
    from evaluation.metrics import score_clips

    rows_path = SHARED / "videos" / "real.jsonl"
    rows = read_rows(rows_path)
    gold = {row.id: row.timeline.to_json() for row in rows if row.timeline is not None}
    assert len(gold) == 6
    path = write_predictions(tmp_path / "gold.jsonl", gold)
    for row in score_clips(load_clips(read_truths(rows_path), read_predictions(path))):
        assert row.mean == pytest.approx(1.0), row
        assert row.num_scored == 6
