"""`python -m evaluation.predict` with a real tiny model on real video files."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from affect.prompts import prompt_hash, render_segment_prompt
from affect.video import Quarantine
from data_prep.rendered.encoding import write_clip
from evaluation import predict
from evaluation.predictions import PredictionFile, read_predictions
from tests.evaluation.files import reply, write_rows
from tests.paths import ROOT

SPANS = [[0, 1, "Joy"], [1, 2, "Fear"]]
VIDEO = {"fps": 2.0, "min_frames": 4, "max_frames": 4, "min_pixels": 3136, "max_pixels": 3136}
BUDGET = {
    "video": VIDEO,
    "prompt": "segment",
    "prompt_hash": prompt_hash("segment"),
    "max_completion_tokens": 6,
}


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from affect.model.tiny import save_tiny

    folder = tmp_path_factory.mktemp("tiny") / "model"
    texts = [render_segment_prompt(2.0), reply(SPANS)]
    save_tiny(folder, texts, vocabulary_size=400, hidden_size=64, num_layers=1, tower_size=64)
    return folder


def draw_clip(path: Path, seed: int) -> None:
    frames = np.random.default_rng(seed).integers(0, 255, size=(20, 56, 56, 3), dtype=np.uint8)
    write_clip(path, frames, 10)


@pytest.fixture
def run(tmp_path: Path, tiny_folder: Path) -> Path:
    """A finished run, its rows file and its clips, all in one folder."""
    shutil.copytree(tiny_folder, tmp_path / "final")
    (tmp_path / "budget.json").write_text(json.dumps(BUDGET), encoding="utf-8")
    for seed, name in enumerate("abcde"):
        draw_clip(tmp_path / "videos" / f"{name}.mp4", seed)
    write_rows(tmp_path / "test.jsonl", dict.fromkeys("abcde", SPANS), duration_seconds=2.0)
    return tmp_path


def ask(run: Path, *more: str, name: str = "test") -> int:
    rows = str(run / "test.jsonl")
    return predict.main(["--run", str(run), "--rows", rows, "--name", name, *more])


def answers(run: Path, name: str = "test") -> PredictionFile:
    return read_predictions(run / "predictions" / f"{name}.jsonl")


def texts(run: Path, name: str = "test") -> dict[str, str | None]:
    return {row_id: answer.text for row_id, answer in answers(run, name).replies.items()}


def test_every_row_is_answered_under_a_full_header(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(run, "--batch-size", "2") == 0
    found = answers(run)
    assert list(found.replies) == list("abcde")
    for answer in found.replies.values():
        assert answer.error is None and answer.num_tokens is not None
        assert 1 <= answer.num_tokens <= 6
    header = found.header
    assert header.model == str(run / "final")
    assert header.budget is not None and header.budget["max_frames"] == 4
    assert (header.prompt, header.prompt_hash) == ("segment", prompt_hash("segment"))
    assert (header.temperature, header.seed, header.max_new_tokens) == (0.0, 0, 6)
    assert header.rows_sha256 is not None and header.model_sha256 is not None
    assert "5 rows answered, 0 kept from before, 0 failed" in capsys.readouterr().out
    assert ask(run, "--batch-size", "2") == 0
    assert "all 5 rows are answered already" in capsys.readouterr().out


def test_batches_and_resuming_change_no_reply(run: Path) -> None:
    sampling = ("--temperature", "1.0", "--seed", "3")
    assert ask(run, "--batch-size", "5", *sampling, name="whole") == 0
    assert ask(run, "--batch-size", "2", *sampling, name="parts") == 0
    assert texts(run, "parts") == texts(run, "whole")
    path = run / "predictions" / "parts.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:4]) + lines[4][:9], encoding="utf-8")
    assert ask(run, "--batch-size", "2", *sampling, name="parts") == 0
    assert texts(run, "parts") == texts(run, "whole")
    assert ask(run, "--batch-size", "5", "--temperature", "1.0", "--seed", "4", name="other") == 0
    assert texts(run, "other") != texts(run, "whole")


def test_broken_and_missing_clips_are_failed_rows_and_tried_again(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (run / "videos" / "b.mp4").read_bytes()
    (run / "videos" / "b.mp4").write_bytes(whole[: len(whole) // 2])
    (run / "videos" / "d.mp4").rename(run / "d.mp4")
    assert ask(run) == 1
    assert "3 rows answered, 0 kept from before, 2 failed" in capsys.readouterr().out
    found = answers(run)
    assert found.answered == {"a", "c", "e"}
    for name in "bd":
        error = found.replies[name].error
        assert error is not None and f"{name}.mp4" in error
    (run / "videos" / "b.mp4").write_bytes(whole)
    (run / "d.mp4").rename(run / "videos" / "d.mp4")
    assert ask(run) == 0
    assert "2 rows answered, 3 kept from before, 0 failed" in capsys.readouterr().out
    assert answers(run).answered == set("abcde")


def test_a_quarantined_clip_fails_at_once_and_a_limit_of_0_reads_it(run: Path) -> None:
    path = run / "videos" / "b.mp4"
    Quarantine(run / "quarantine.jsonl").add(
        path, path.stat(), "its decoder crashed (SIGSEGV)", seconds=1.0, limit_seconds=None
    )
    assert ask(run) == 1
    found = answers(run)
    assert found.answered == {"a", "c", "d", "e"}
    error = found.replies["b"].error
    assert error is not None and f"{path}: in quarantine since an earlier decode" in error
    assert ask(run, "--decode-timeout-seconds", "0") == 0
    assert ask(run, "--decode-timeout-seconds", "-1") == 2


def test_a_row_that_states_another_duration_fails(run: Path) -> None:
    write_rows(run / "test.jsonl", {"a": [[0, 3, "Joy"]]}, duration_seconds=3.0)
    assert ask(run) == 1
    error = answers(run).replies["a"].error
    assert error is not None and "video_duration is 3.0 s" in error and "2.000 s" in error


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_answered(run: Path) -> None:
    """A real SIGINT in the middle: exit code 130, whole lines only, and a resumed file that
    equals one that was never interrupted."""
    names = [f"r{index:03}" for index in range(300)]
    for name in names:
        os.link(run / "videos" / "a.mp4", run / "videos" / f"{name}.mp4")
    write_rows(run / "test.jsonl", dict.fromkeys(names, SPANS), duration_seconds=2.0)
    command = [sys.executable, "-m", "evaluation.predict", "--run", str(run), "--batch-size", "1"]
    command += ["--rows", str(run / "test.jsonl"), "--name"]
    path = run / "predictions" / "cut.jsonl"
    process = subprocess.Popen(
        [*command, "cut"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not (path.exists() and path.read_bytes().count(b"\n") > 20):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    num_answered = len(read_predictions(path).replies)
    # One that was written but not yet safe on the disk when the signal came is taken back.
    assert 19 <= num_answered < 300
    assert f"stopped with {num_answered} of 300 rows answered" in error
    for name in ("cut", "whole"):
        subprocess.run([*command, name], cwd=ROOT, check=True, capture_output=True)
    assert path.read_bytes() == path.with_name("whole.jsonl").read_bytes()


def refusal(run: Path, capsys: pytest.CaptureFixture[str], *more: str, name: str = "test") -> str:
    capsys.readouterr()
    assert ask(run, *more, name=name) == 2
    error = capsys.readouterr().err
    assert error.startswith("predict: ") and error.count("\n") == 1
    return error


def test_another_budget_is_refused_unless_told(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = run / "other.json"
    other.write_text(json.dumps(BUDGET | {"video": VIDEO | {"fps": 1.0}}), encoding="utf-8")
    error = refusal(run, capsys, "--budget", str(other))
    assert "fps: 2.0 in training, 1.0 now" in error and "--allow-other-budget" in error
    assert not (run / "predictions").exists()
    assert ask(run, "--budget", str(other), "--allow-other-budget") == 0
    budget = answers(run).header.budget
    assert budget is not None and budget["fps"] == 1.0


def test_a_file_begun_with_other_weights_is_refused(
    run: Path, capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert ask(run) == 0
    config = run / "final" / "config.json"
    config.write_text(config.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert "model_sha256: " in refusal(run, capsys)
    assert "temperature: 0.0 in the file, 0.5 now" in refusal(run, capsys, "--temperature", "0.5")


def test_a_model_that_is_no_run(
    run: Path, tiny_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = ["--model", str(tiny_folder), "--rows", str(run / "test.jsonl")]
    asked += ["--name", "test", "--out", str(run / "base")]
    assert predict.main(asked) == 2
    assert "has no budget.json; name one with --budget FILE" in capsys.readouterr().err
    assert predict.main([*asked, "--budget", str(run / "budget.json")]) == 0
    assert answers(run / "base").answered == set("abcde")


def test_mistakes_show_before_a_model_is_loaded(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "holds none of the 5 videos" in refusal(run, capsys, "--video-root", str(run / "final"))
    assert "--batch-size must be 1 or more" in refusal(run, capsys, "--batch-size", "0")
    assert "--max-new-tokens must be 1" in refusal(run, capsys, "--max-new-tokens", "0")
    assert "--temperature must be 0" in refusal(run, capsys, "--temperature", "nan")
    assert "has no checkpoint 7" in refusal(run, capsys, "--checkpoint", "7")
    assert "--device toaster: can't be used" in refusal(run, capsys, "--device", "toaster")
    (run / "test.jsonl").write_text("")
    assert "there is no row in it" in refusal(run, capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give one of --run RUN, --model FOLDER and --endpoint FILE"),
        (["--model", "m", "--checkpoint", "3"], "--checkpoint N needs --run"),
        (["--model", "m"], "--model needs --out FOLDER"),
        (["--run", "r", "--model", "m"], "not --run and --model"),
        (["--run", "r", "--name", "../x"], "must be a plain file name"),
    ],
)
def test_usage_errors(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        predict.main(["--rows", "rows.jsonl", "--name", "test", *arguments])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_help_shows_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        predict.main(["--help"])
    assert stopped.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "(default: 4 with transformers, 64 with vllm)" in told
    assert "--endpoint.max_concurrent VALUE Requests at once. (default: 16)" in told
