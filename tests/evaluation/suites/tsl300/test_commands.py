"""`rows` and `score` as they are called."""

import json
import shutil
from pathlib import Path

import pytest

from affect.records import read_rows
from evaluation.suites.tsl300.__main__ import main
from evaluation.suites.tsl300.results import METRICS, TIOU_THRESHOLDS, read_tsl_results
from tests.evaluation.files import reply, sft_row, write_lines, write_predictions
from tests.evaluation.suites.tsl300.label_files import TWO_VIDEOS, write, write_labels
from tests.paths import SHARED, needs_shared

A, B = "1_Ekman6_a", "2_Ekman6_b"


def test_mistakes_end_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = str(write_labels(tmp_path / "labels", TWO_VIDEOS))
    calls = [
        (["rows", "--labels", labels, "--video-root", str(tmp_path / "x"), "--out", "o"],
         "there is no such folder; --video-root names that of the videos"),
        (["rows", "--labels", labels, "--video-root", labels, "--out", "o"],
         "holds none of the 2 videos (the first would be 1_Ekman6_a.mp4)"),
        (["score", "--labels", labels, "--run", str(tmp_path), "--name", "tsl"],
         "predictions/tsl.jsonl: there are no such predictions"),
        (["score", "--labels", labels, "--predictions", "x", "--open", "?"],
         "x: there are no such predictions"),
    ]  # fmt: skip
    for argv, message in calls:
        assert main(argv) == 2
        printed = capsys.readouterr().err
        assert message in printed and printed.count("\n") == 1
    with pytest.raises(SystemExit):
        main(["score", "--labels", labels, "--run", "runs/a"])
    assert "go together" in capsys.readouterr().err


@needs_shared
def test_rows_have_the_decoded_duration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = write_labels(tmp_path / "labels", {
        A: ("test", 5.0, []), B: ("test", 5.0, []), "4_x": ("test", 5.0, []),
        "5_x": ("test", 5.0, []),
    })  # fmt: skip
    root = tmp_path / "videos"
    (root / "test").mkdir(parents=True)
    derived = SHARED / "videos" / "derived"
    shutil.copy(derived / "bbb_h264.mp4", root / "test" / f"{A}.mp4")
    shutil.copy(derived / "bbb_0.4s.mp4", root / f"{B}.MP4")
    (root / f"{A}.json").write_text("{}")
    (root / "4_x.mp4").write_bytes(b"no video")
    out = tmp_path / "tsl.jsonl"
    argv = ["rows", "--labels", str(labels), "--video-root", str(root), "--out", str(out)]
    assert main([*argv, "--decode-timeout-seconds", "0"]) == 1
    printed = capsys.readouterr()
    assert f"{out}: 2 rows of 4 videos" in printed.out
    assert "4_x: " in printed.err and "5_x: no video of this name" in printed.err
    assert f"{B}: lasts 0.40 s, len_duration_dict.json says 5.00 s" in printed.err
    first, second = read_rows(out)
    assert (first.id, first.video, first.source) == (A, f"test/{A}.mp4", "tsl300")
    assert first.duration_seconds == pytest.approx(5.28) and first.timeline is None
    assert second.duration_seconds == pytest.approx(0.4, abs=0.05)
    shutil.copy(derived / "bbb_h264.mp4", root / f"{A}.mkv")
    assert main(argv) == 2
    assert "has the same name; keep one of the two there" in capsys.readouterr().err


def make_run(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    rows = write_lines(tmp_path / "rows.jsonl", [sft_row(A, None, 130.0), sft_row(B, None, 200.0)])
    replies = {A: reply([[0, 10, "Boredom"], [10, 20, "Joy"], [20, 130, "Fear"]]), B: "no idea"}
    path = write_predictions(run / "predictions" / "tsl.jsonl", replies)
    lines = path.read_text().splitlines()
    header = {"header": {"model": "m", "rows": str(rows)}}
    write_lines(path, [header, *lines[1:]])
    return run


def test_score_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """[10-20 p] is met; [40-60 n] has tIoU 20/110 with 20-130; [0-100 p] of the other is not."""
    labels = str(write_labels(tmp_path / "labels", TWO_VIDEOS))
    run = make_run(tmp_path)
    argv = ["score", "--run", str(run), "--name", "tsl", "--labels", labels, "--replicates", "50"]
    assert main(argv) == 0
    printed = capsys.readouterr().out
    assert "2 videos: 1 scored, 1 unparsed, 0 missing" in " ".join(printed.split())
    results = read_tsl_results(run / "tsl300" / "tsl.json")
    assert len(results.rows) == len(METRICS) * (len(TIOU_THRESHOLDS) + 1)
    counts = results.counts
    assert (counts.num_truth_positive, counts.num_truth_negative) == (2, 1)
    assert (counts.num_predicted_positive, counts.num_predicted_negative) == (1, 1)
    assert (counts.num_scored, counts.num_unparsed, counts.num_missing) == (1, 1, 0)
    assert counts.num_background == 1
    assert results.row("ap_positive", 0.3).mean == 0.5
    assert results.row("ap_negative", 0.15).mean == 1.0
    assert results.row("ap_negative", 0.2).mean == 0.0
    assert results.row("map", None).mean == pytest.approx((5 * 0.5 + 2) / 10)
    assert results.reading is not None and results.reading.polarity["Boredom"] == "background"

    assert main([*argv, "--open", "positive", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    # Boredom and Joy join to 0-20: tIoU .5 with 10-20.
    assert again["counts"]["num_predicted_positive"] == 1
    assert again["reading"]["open_emotions"] == "positive"
    assert main([*argv, "--open", "positive", "--keep-neighbours"]) == 0
    assert read_tsl_results(run / "tsl300" / "tsl.json").counts.num_predicted_positive == 2


def test_score_of_a_file_in_its_own_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = str(write_labels(tmp_path / "labels", TWO_VIDEOS))
    path = tmp_path / "detections.json"
    write(path, {"results": {A: [{"label": "p", "score": 0.9, "segment": [10, 20]}]}})
    assert main(["score", "--predictions", str(path), "--labels", labels]) == 0
    results = read_tsl_results(tmp_path / "detections.tsl300.json")
    assert results.reading is None
    assert (results.counts.num_scored, results.counts.num_missing) == (1, 1)
    capsys.readouterr()

    before = path.read_bytes()
    argv = ["score", "--predictions", str(path), "--labels", labels, "--out", str(path)]
    assert main(argv) == 2
    assert "is a file that is read here" in capsys.readouterr().err
    assert path.read_bytes() == before

    write(path, {"results": {"3_Ekman6_c": []}})
    assert main(["score", "--predictions", str(path), "--labels", labels]) == 2
    assert "'3_Ekman6_c' is no test video of" in capsys.readouterr().err
    argv = ["score", "--predictions", str(path), "--labels", labels, "--subset", "train"]
    assert main(argv) == 2
    assert "use --annotations videosenti_gt.json" in capsys.readouterr().err


def test_results_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "tsl.json"
    path.write_text('{"rows": []}')
    one_line = r"not scores on TSL-300: predictions_sha256: Field required$"
    with pytest.raises(ValueError, match=one_line):
        read_tsl_results(path)


def test_rows_replace_rows_of_these_videos_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = str(write_labels(tmp_path / "labels", TWO_VIDEOS))
    out = write_lines(tmp_path / "out.jsonl", [sft_row("mine", [[0, 4, "Joy"]], 4.0)])
    argv = ["rows", "--labels", labels, "--video-root", labels, "--out", str(out)]
    before = out.read_bytes()
    assert main(argv) == 2
    assert "holds something else; choose another --out" in capsys.readouterr().err
    assert out.read_bytes() == before
    out.write_text("my notes")
    assert main(argv) == 2
    assert "holds something else" in capsys.readouterr().err
    write_lines(out, [sft_row(A, None, 120.0)])
    assert main(argv) == 2
    assert "holds none of the 2 videos" in capsys.readouterr().err
