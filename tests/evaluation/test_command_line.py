"""How mistakes end, and tables on narrow terminals."""

import errno
import importlib
import io
import os
from pathlib import Path

import pytest
from rich.table import Table

from evaluation import analyse, command_line, compare, score
from evaluation.command_line import make_console, require_other_file, run_command, tell_os_error
from evaluation.report import __main__ as report
from tests.evaluation.files import reply, write_predictions, write_rows


def raises(error: BaseException) -> int:
    raise error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "a.jsonl"),
            "a.jsonl: there is no such file or folder",
        ),
        (IsADirectoryError(errno.EISDIR, "?", "a"), "a: is a folder; a file is needed"),
        (IsADirectoryError(errno.EISDIR, "?", ".a.tmp", None, "a"), "a: is a folder; a file"),
        (NotADirectoryError(errno.ENOTDIR, "?", "a/b"), "a/b: a file lies where a folder"),
        (FileExistsError(errno.EEXIST, "?", "a"), "a: a file lies where a folder"),
        (PermissionError(errno.EACCES, "?", "a"), "a: may not be read, or written"),
        (OSError(errno.ENOSPC, "No space left on device", "a"), "a: No space left on device"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError("only words"), "only words"),
        (OSError(errno.EIO, "Input/output error", 7), "7: Input/output error"),
        (FileNotFoundError(errno.ENOENT, "?", b"a\xff"), "a\udcff: there is no such file"),
    ],
)
def test_an_os_error_names_its_file_first(error: OSError, told: str) -> None:
    assert tell_os_error(error).startswith(told)
    assert "Errno" not in tell_os_error(error)


@pytest.mark.parametrize(
    ("package", "extra"),
    [("openai", "servers"), ("google.genai", "servers"), ("torch", "eval"), ("wandb", "wandb")],
)
def test_a_package_that_is_missing_is_a_line_that_says_what_to_install(
    package: str, extra: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = ModuleNotFoundError(f"No module named {package!r}", name=package)
    assert run_command("predict", lambda: raises(error)) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"predict: needs the package {package.partition('.')[0]}; install")
    assert f"dynamic-affective-reasoning[{extra}]" in told and told.count("\n") == 1


def test_a_module_of_ours_that_is_missing_is_no_users_mistake() -> None:
    with pytest.raises(ModuleNotFoundError):
        run_command("predict", lambda: bool(importlib.import_module("evaluation.not_there")))


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    read, link, other = tmp_path / "read", tmp_path / "link", tmp_path / "other"
    read.write_text("paid for")
    link.symlink_to(read)
    for out in (read, link, tmp_path / "." / "read"):
        with pytest.raises(ValueError, match="is a file that is read here; name another"):
            require_other_file(out, other, read)
    require_other_file(other, read)
    other.write_text("")
    require_other_file(other, read)


@pytest.mark.parametrize("command", ["score", "analyse", "compare", "report"])
@pytest.mark.parametrize("out", ["predictions", "rows"])
def test_commands_do_not_write_over_replies_or_rows(
    tmp_path: Path, command: str, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spans = [[0, 4, "Joy"], [4, 8, "Fear"]]
    rows = write_rows(tmp_path / "rows.jsonl", {"a": spans})
    run = tmp_path / "run"
    replies = write_predictions(run / "predictions" / "test.jsonl", {"a": reply(spans)})
    before = {path: path.read_bytes() for path in (rows, replies)}
    on_rows = ["--rows", str(rows), "--out", str({"predictions": replies, "rows": rows}[out])]
    calls = {
        "score": (score.main, ["--predictions", str(replies)]),
        "analyse": (analyse.main, ["--predictions", str(replies)]),
        "compare": (compare.main, ["--base", f"A={replies}", "--other", f"B={replies}"]),
        "report": (report.main, [str(run)]),
    }
    main, arguments = calls[command]
    assert main([*arguments, *on_rows]) == 2
    told = capsys.readouterr().err
    assert told.endswith("is a file that is read here; name another\n")
    assert {path: path.read_bytes() for path in before} == before


def test_a_report_from_a_folder_of_videos_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = tmp_path / "nowhere"
    assert report.main([str(tmp_path), "--video-root", str(nowhere)]) == 2
    assert capsys.readouterr().err == f"report: --video-root {nowhere}: there is no such folder\n"


@pytest.mark.parametrize("width", [20, 80, 200])
def test_no_number_is_cut_short_on_a_narrow_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [f"{number}.25 [{number}.00, {number}.50]" for number in range(1000, 1012)]
    table = Table(*(f"column_{number}" for number in range(12)))
    table.add_row(*numbers)
    screen = io.StringIO()
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(command_line.sys, "stdout", screen)
    monkeypatch.setattr(screen, "isatty", lambda: True, raising=False)
    console = make_console()
    console.print(table)
    shown = screen.getvalue()
    assert "…" not in shown
    assert all(word in shown for number in numbers for word in number.split())
    assert console.width == (width if console.is_terminal else 160)
