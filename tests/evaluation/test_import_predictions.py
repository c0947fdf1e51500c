"""`python -m evaluation.import_predictions`: another system becomes a run like any other."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from affect.file_hash import sha256_of_file
from evaluation.import_predictions import main
from evaluation.predictions import Answer, PredictionFile, read_predictions
from evaluation.run_results import load_run
from tests.evaluation.files import reply, write_lines, write_predictions, write_rows

TRUTHS = {name: [[0, 4, "Joy"], [4, 8, "Fear"]] for name in "abcd"}
RIGHT = reply(TRUTHS["a"])


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Rows a to d, of the clips videos/a.mp4 to videos/d.mp4."""
    return write_rows(tmp_path / "test.sft.jsonl", dict(TRUTHS))


def take(rows: Path, file: Path, *more: str) -> int:
    out = str(rows.parent / "runs" / "videmo")
    command = ["--file", str(file), "--rows", str(rows), "--system", "Videmo", "--out", out]
    return main([*command, "--name", "test", *more])


def taken(rows: Path) -> PredictionFile:
    return read_predictions(rows.parent / "runs" / "videmo" / "predictions" / "test.jsonl")


def test_a_foreign_system_is_a_run_like_any_other(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ms-swift's results: one right, one without its last turn's text, one failed, one missing."""
    chat = [{"role": "user", "content": "<video>Q"}, {"role": "assistant", "content": RIGHT}]
    file = write_lines(
        tmp_path / "theirs.jsonl",
        [
            {
                "response": RIGHT,
                "messages": chat,
                "videos": ["/elsewhere/videos/a.mp4"],
                "labels": None,
            },
            {"response": "I can't say.", "videos": ["videos/b.mp4"]},
            {"response": None, "videos": ["c.mp4"]},
        ],
    )
    assert take(rows, file) == 1
    out = capsys.readouterr().out
    assert "Videmo: 4 rows, 3 matched" in out and "1 of them failed; 1 missing; 0 entries" in out
    assert "replies: 2 (text), segments can be read in 1, 1 are strict timelines" in out
    assert "first faults: no_object: 1" in out
    found = taken(rows)
    assert found.replies == {
        "a": Answer(RIGHT),
        "b": Answer("I can't say."),
        "c": Answer(None, error="response is null in theirs.jsonl:3"),
    }
    header = found.header.model_dump()
    assert header["model"] == "Videmo" and header["engine"] == "imported"
    assert header["rows_sha256"] == sha256_of_file(rows)
    assert (header["source_file"], header["source_sha256"]) == (
        "theirs.jsonl",
        hashlib.sha256(file.read_bytes()).hexdigest(),
    )
    assert header["matched_by"] == {"end of the path": 1, "file name": 1, "video path": 1}
    assert (header["id_fields"], header["reply_fields"]) == ({"videos": 3}, {"response": 2})
    assert (header["reply"], header["temperature"], header["budget"]) == ("text", None, None)
    run = load_run(rows.parent / "runs" / "videmo", "test")
    assert run.label == "videmo"
    # One of four clips is right; the others count as wrong.
    assert run.score("strict", "miou_segment").mean == pytest.approx(0.25)
    assert run.score("strict", "miou_segment").num_missing == 2


def test_structured_replies_are_said_to_be_so(rows: Path, tmp_path: Path) -> None:
    segments = json.loads(RIGHT)["segments"]
    file = tmp_path / "theirs.json"
    file.write_text(json.dumps({"a": segments, "b": {"segments": segments}}), encoding="utf-8")
    assert take(rows, file) == 0
    assert {answer.text for answer in taken(rows).replies.values()} == {RIGHT}
    header = taken(rows).header.model_dump()
    assert header["reply"] == "structured" and header["matched_by"] == {"id": 2}


def test_our_own_files_bring_their_settings_and_later_tries(rows: Path, tmp_path: Path) -> None:
    line = {"id": "a", "text": None, "error": "no picture"}
    header = {"model": "base", "temperature": 0.5, "budget": {"fps": 2.0}, "rows": "elsewhere"}
    again = {"id": "a", "text": RIGHT, "num_tokens": 7, "finished": True, "error": None}
    file = write_lines(tmp_path / "old.jsonl", [{"header": header}, line, again])
    assert take(rows, file) == 0
    assert taken(rows).replies == {"a": Answer(RIGHT, 7, True)}
    found = taken(rows).header
    assert (found.model, found.temperature, found.budget) == ("Videmo", 0.5, {"fps": 2.0})
    assert found.rows == str(rows) and found.model_dump()["source_header"] == header
    bad = write_lines(tmp_path / "bad.jsonl", [{"header": {"seed": "x"}}, again])
    assert take(rows, bad, "--name", "other") == 2


def test_doing_it_twice_changes_nothing_and_another_file_is_not_replaced(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_predictions(tmp_path / "x.jsonl", {"a": RIGHT})
    assert take(rows, file) == 0 and "written" in capsys.readouterr().out
    path = taken(rows).path
    before = path.read_bytes()
    assert take(rows, file) == 0 and "there already, unchanged" in capsys.readouterr().out
    assert take(rows, write_predictions(tmp_path / "x.jsonl", {"a": "no"})) == 2
    assert "is there already and holds other predictions" in capsys.readouterr().err
    assert path.read_bytes() == before and [path] == list(path.parent.iterdir())


@pytest.mark.parametrize(
    ("lines", "more", "fault"),
    [
        (['{"id": "a", "text": "r"}', '{"id": "z", "text": "r"}'], (), r":2: id 'z' is none of"),
        (['{"id": "a", "text": "r"}', '{"id": "a", "text": "r"}'], (), r":2: id 'a': row 'a' has"),
        (
            ['{"id": "a", "text": null}', '{"id": "a", "text": "r"}'],
            (),
            r":2: id 'a': row 'a' has an entry at .*t\.jsonl:1 already",
        ),
        (
            ['{"video": "a", "text": "r"}', '{"video": "videos/a.mp4", "text": "r"}'],
            (),
            r":2: video 'videos/a\.mp4': row 'a' has an entry",
        ),
        (['{"id": "z", "text": "r"}'], ("--skip-unknown",), "holds no entry of any of the rows"),
        (['{"id": "a"}'], (), ":1: no reply"),
        (['{"name": "a", "text": "r"}'], (), ":1: no id"),
        (["{"], (), ":1: not JSON"),
        (["\ufeff"], (), "holds no entry"),
    ],
)
def test_what_is_wrong_is_told_by_line_and_nothing_is_written(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    lines: list[str], more: tuple[str, ...], fault: str,
) -> None:  # fmt: skip
    file = write_lines(tmp_path / "t.jsonl", lines)
    assert take(rows, file, *more) == 2
    error = capsys.readouterr().err
    assert error.startswith("import_predictions: ") and error.count("\n") == 1
    with pytest.raises(AssertionError, match=fault):
        raise AssertionError(error)
    assert not (rows.parent / "runs").exists()


def test_strangers_are_left_out_and_counted(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_lines(
        tmp_path / "t.jsonl",
        [{"n": "z", "r": "x"}, {"n": "a", "r": "x"}, {"n": "y", "r": "x"}],
    )
    fields = ("--id-field", "n", "--reply-field", "r")
    assert take(rows, file, *fields, "--skip-unknown") == 0
    assert "3 missing; 2 entries of unknown rows left out" in capsys.readouterr().out
    assert taken(rows).header.model_dump()["num_unknown_skipped"] == 2


def test_equal_file_names_in_two_folders_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = []
    for folder in ("x", "y"):
        lines.append(
            {
                "id": f"{folder}1",
                "video": f"{folder}/a.mp4",
                "video_duration": 8.0,
                "conversations": [{"from": "human", "value": "<video>"}],
            }
        )
    rows = write_lines(tmp_path / "rows.jsonl", lines)
    assert take(rows, write_lines(tmp_path / "t.jsonl", [{"video_id": "a", "text": "r"}])) == 2
    error = capsys.readouterr().err
    assert "t.jsonl:1: video_id 'a' fits 2 rows by file name, among them 'x1' and 'y1'" in error


def test_a_csv_is_a_structured_reply(rows: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(
        "video,start,end,emotion,reason\na,0,4,Joy,They dance.\na,4,8,Fear,They dance.\n"
    )
    assert take(rows, file) == 0
    run = load_run(rows.parent / "runs" / "videmo", "test")
    assert run.clips[0].id == "a" and run.score("strict", "sc_acc").mean == 0.25
    assert taken(rows).header.model_dump()["reply"] == "structured"


@pytest.mark.parametrize(
    "wrong", [("--name", "../x"), ("--name", ""), ("--system", " "), ("--format", "xml")]
)
def test_wrong_options_are_refused(rows: Path, wrong: tuple[str, str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        take(rows, rows, *wrong)


def test_missing_files_are_mistakes(rows: Path, tmp_path: Path) -> None:
    assert take(rows, tmp_path / "nowhere.jsonl") == 2
    assert take(tmp_path / "nowhere.jsonl", rows) == 2


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from("abcd"), st.text() | st.none(), min_size=1))
def test_any_replies_come_through_unchanged(
    rows: Path, tmp_path_factory: pytest.TempPathFactory, replies: dict[str, str | None]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    lines: list[Any] = [{"video": f"{name}.mp4", "output": text} for name, text in replies.items()]
    file = write_lines(folder / "t.jsonl", lines)
    command = ["--file", str(file), "--rows", str(rows), "--system", "S", "--name", "n"]
    code = main([*command, "--out", str(folder)])
    assert code == (1 if None in replies.values() else 0)
    found = read_predictions(folder / "predictions" / "n.jsonl").replies
    assert {name: answer.text for name, answer in found.items()} == replies
