"""A plot as inline SVG and as PNG."""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from evaluation.report import palette
from evaluation.report.contents import Interval, Plot, Tips
from evaluation.report.draw import inline_svg, png_of
from evaluation.report.shown import Panel, draw_rows, short, short_labels
from tests.evaluation.report.page_parts import read_html
from tests.paths import ROOT

# It looks like what the drawing rewrites: colours, ids, references, groups.
HOSTILE = '#0069b4; id="x" url(#y) <g id="tip0">'


def plot_of(labels: Sequence[str] = ("a", HOSTILE), plot_id: str = "one") -> Plot:
    def draw(figure: Figure, tips: Tips) -> None:
        values = {label: [Interval(0.5, 0.25, 0.75), None] for label in labels}
        draw_rows(
            figure, tips, labels=list(labels), rows=["Joy", HOSTILE],
            panels=[Panel("recall, %", values, limits=(0, 100))],
        )  # fmt: skip

    return Plot(plot_id, "A caption.", "Two <rows>.", 4.0, 2.0, draw)


@pytest.fixture(scope="module")
def svg() -> str:
    return inline_svg(plot_of())


def test_labels_stay_as_they_are(svg: str) -> None:
    read = read_html(svg)
    assert not read.unclosed
    # The row's label, not a tip.
    texts = [one for one in ElementTree.fromstring(svg).iter() if one.tag.endswith("text")]
    assert HOSTILE in ["".join(one.itertext()) for one in texts]
    assert "Two <rows>." in [attributes.get("aria-label") for _, attributes in read.tags]


def test_marks_have_their_numbers_as_tips(svg: str) -> None:
    root = ElementTree.fromstring(svg)
    titles = [one.text for one in root.iter() if one.tag.endswith("title")]
    assert titles == [
        "a, Joy: 50.0 [25.0, 75.0] (recall, %)",
        f"{HOSTILE}, Joy: 50.0 [25.0, 75.0] (recall, %)",
    ]


def test_colours_are_the_pages_and_nothing_covers_it(svg: str) -> None:
    assert f"var({palette.run_ink(0).variable},{palette.run_ink(0).color})" in svg
    assert f"var({palette.TEXT.variable},{palette.TEXT.color})" in svg
    left = set(re.findall(r"#[0-9a-f]{6}", re.sub(r"var\([^)]*\)", "", svg)))
    assert left <= {HOSTILE[:7]}, "of a label, not of a style"
    assert "<style" not in svg and "font-family" not in svg


def test_ids_carry_the_plots_name(svg: str) -> None:
    ids = re.findall(r'<[^>]* id="([^"]*)"', svg)
    assert ids and all(one.startswith("one-") for one in ids)
    assert not re.search(r"https?:|//", svg)


@pytest.mark.slow
def test_equal_plots_are_equal_bytes_in_another_process(svg: str, tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text("axes.facecolor: ff0000\nfont.size: 30\n")
    script = (
        "import hashlib\n"
        "from evaluation.report.draw import inline_svg, png_of\n"
        "from tests.evaluation.report.test_draw import plot_of\n"
        "both = inline_svg(plot_of()).encode() + png_of(plot_of())\n"
        "print(hashlib.sha256(both).hexdigest())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "MATPLOTLIBRC": str(tmp_path), "PYTHONHASHSEED": "9"},
        capture_output=True,
        text=True,
        check=True,
    )
    ours = hashlib.sha256(svg.encode() + png_of(plot_of())).hexdigest()
    assert ran.stdout.strip() == ours


def test_the_picture_is_dark_on_white() -> None:
    from io import BytesIO

    from PIL import Image

    picture = Image.open(BytesIO(png_of(plot_of())))
    assert picture.size == (640, 320)
    assert picture.convert("RGB").getpixel((1, 318)) == (255, 255, 255)


def test_inks_are_apart() -> None:
    variables = palette.variables()
    assert len(set(variables.values())) == len(variables) == 15
    looks = {(ink.color, ink.marker) for ink in map(palette.run_ink, range(18))}
    assert len(looks) == 18


def test_every_ink_is_set_for_light_and_dark_pages() -> None:
    css = (ROOT / "evaluation/report/sections.css").read_text(encoding="utf-8")
    light, dark = css.split("@media screen and (prefers-color-scheme: dark)")
    for variable in palette.variables().values():
        assert f"{variable}:" in light and f"{variable}:" in dark


def test_long_labels_are_short_and_never_alike() -> None:
    assert short("x" * 100, 11) == "xxxxx…xxxxx"
    assert short("a\nb\tc") == "a b c"
    alike = ["runs/" + "a" * 40 + "/one", "runs/" + "a" * 41 + "/one", "b"]
    shown = short_labels(alike)
    assert len(set(shown.values())) == 3 and shown["b"] == "b"
