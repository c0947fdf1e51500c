"""What a person sees who starts a command: help, the list of configurations, or the fault."""

import subprocess
import sys
from pathlib import Path

import pytest

from affect.config import parse_command_line
from tests.affect.config.example import Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "demo.yaml").write_text("# The small one.\nrun_dir: runs/a\n")
    (tmp_path / "paper.yaml").write_text("run_dir: runs/b\n")
    (tmp_path / "notes.txt").write_text("no configuration")
    return tmp_path


def parse(folder: Path, *arguments: str) -> Run:
    return parse_command_line(
        Run, arguments, prog="drive", description="Drives.", config_folder=folder
    )


def refused(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        parse(folder, *arguments)
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_options(folder: Path) -> None:
    demo = str(folder / "demo.yaml")
    run = parse(
        folder, "--config", demo, "--video.fps", "2e0", "--ratio=.25", "--note=a=b: c",
        "--video.sizes", "[3, 4]", "--trainer.lr", "-1", "--mode", "drop", "--mode", "keep",
    )  # fmt: skip
    assert (run.video.fps, run.ratio, run.note) == (2.0, 0.25, "a=b: c")
    assert run.video.sizes == (3, 4)
    assert run.trainer == {"max_steps": 5, "lr": -1}
    assert run.mode == "keep"


def test_no_config_lists_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = refused(folder, capsys)
    assert "--config FILE" in text
    assert "  demo.yaml   The small one.\n  paper.yaml\n" in text
    assert "notes.txt" not in text


def test_missing_file_lists_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = refused(folder, capsys, "--config", "nope.yaml")
    assert text.startswith("drive: nope.yaml: there is no such file.") and "demo.yaml" in text


def test_empty_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "There is no YAML file in " in refused(folder / "none", capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--video.fsp", "1"], '--video.fsp: unknown key "video.fsp"; did you mean "video.fps"?'),
        (["--mode"], "--mode needs a value"),
        (["--mode", "--ratio", "1"], "--mode needs a value"),
        (["mode=keep"], '"mode=keep" is not an option'),
        (["--"], '"--" is not an option'),
        (["--video..fps", "1"], "is not an option"),
        (["-r", "1"], '"-r" is not an option'),
        (["--note", "[q]_proj"], "--note: [q]_proj opens like YAML but does not read as such"),
        (["--ratio", "much"], "--ratio: Input should be a valid number"),
    ],
)
def test_faults(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    text = refused(folder, capsys, "--config", str(folder / "demo.yaml"), *arguments)
    assert text.startswith("drive: ") and message in text
    assert "Traceback" not in text


def test_only_rank_0_speaks(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    assert refused(folder, capsys) == ""


def test_help_shows_every_field(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(folder, "--config", "whatever", "--help")
    assert caught.value.code == 0
    text = capsys.readouterr().out
    for line in [
        "usage: drive --config FILE [--section.key value ...]",
        "Drives.",
        "  demo.yaml   The small one.",
        "  --run_dir (Path)\n      Folder that receives everything the run writes. [required]",
        "  --mode (Literal['keep', 'drop'])\n      What to do. [default: keep]",
        "  --note (str | None)\n      Anything. [default: null]",
        "video: Which frames, here at 1 fps.",
        "  --video.fps (float)\n      Frames per second to sample. [default: 1.0]",
        "  --warm.fps (float)\n      Frames per second to sample. [default: 2.0]",
        "      Frame sizes, described below the field instead of in it. [default: [1, 2]]",
        "  --trainer (dict[str, Any])\n      Passed on unchanged. [default: {max_steps: 5}]",
    ]:
        assert line in text


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, affect.config; print({'torch', 'transformers', 'numpy'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
