"""Figures whose files depend on what is drawn alone."""

import hashlib
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Literal

import matplotlib
import pytest
from matplotlib.figure import Figure

from affect.figures import figure_bytes, plain_style, settle
from tests.paths import ROOT

DRAW = """
from matplotlib.figure import Figure
from affect.figures import figure_bytes, plain_style, settle
def drawn(kind):
    with plain_style():
        figure = Figure(figsize=(2, 1), layout="constrained")
        axes = figure.subplots()
        axes.plot([0, 1], [0, 2])
        axes.axhspan(0, 1, alpha=.2)
        settle(figure)
        return figure_bytes(figure, kind)
"""


def drawn(kind: Literal["svg", "png"]) -> bytes:
    space: dict[str, Any] = {}
    exec(DRAW, space)  # the same text as the other process runs
    file: bytes = space["drawn"](kind)
    return file


def test_equal_drawings_are_equal_bytes_in_another_process_and_style(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text("axes.facecolor: ff0000\nfont.size: 30\n")
    script = DRAW + (
        "import hashlib\nprint(hashlib.sha256(drawn('svg') + drawn('png')).hexdigest())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "MATPLOTLIBRC": str(tmp_path), "PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == hashlib.sha256(drawn("svg") + drawn("png")).hexdigest()


def test_files_say_neither_when_nor_with_what_they_were_made() -> None:
    assert b"<metadata" not in drawn("svg") and b"Matplotlib" not in drawn("svg")
    assert b"Software" not in drawn("png")


def test_the_users_style_comes_back() -> None:
    matplotlib.rcParams["font.size"] = 31
    try:
        with plain_style({"font.size": 5}):
            assert matplotlib.rcParams["font.size"] == 5
            assert matplotlib.rcParams["svg.hashsalt"] == "dynamic-affective-reasoning"
        assert matplotlib.rcParams["font.size"] == 31
    finally:
        matplotlib.rcdefaults()


def test_a_script_the_font_lacks_is_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with plain_style():
            figure = Figure(figsize=(2, 1))
            figure.text(0, 0, "漢字")
            settle(figure)
            assert figure_bytes(figure, "png").startswith(b"\x89PNG")


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with (
        pytest.raises(ValueError, match=r"pip install 'dynamic-affective-reasoning\[report\]'"),
        plain_style(),
    ):
        raise AssertionError("nothing can be drawn")
