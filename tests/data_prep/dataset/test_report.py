"""Plots and page: equal bytes each time, nothing loaded from elsewhere, nothing taken as markup."""

import hashlib
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from data_prep.dataset.balance import balance
from data_prep.dataset.comparison import beside_paper
from data_prep.dataset.plots import PLOTS, draw_plots
from data_prep.dataset.report import Report, render_report
from data_prep.dataset.statistics import Gathered
from tests.data_prep.dataset.test_statistics import document_of
from tests.paths import ROOT

NUM_VIDEOS = {"train": 3, "dev": 1, "test": 1}


@pytest.fixture(scope="module")
def plots():
    return dict(draw_plots(document_of()))


def page_of(plots, *, provenances=None, strata="dominant: Joy", document=None) -> str:
    names = {f"v{number}": (strata,) for number in range(5)}
    split_of = dict(zip(names, ["train", "train", "train", "dev", "test"], strict=True))
    return render_report(
        Report(
            comparison=beside_paper(document or document_of(), NUM_VIDEOS),
            balance=balance(names, split_of),
            provenances=provenances or {"verified": 5},
            num_copies=2,
            num_copy_groups=1,
            largest_copy_group=3,
            svgs={name: files["svg"] for name, files in plots.items()},
        )
    )


def test_every_plot_is_an_svg_and_a_png(plots):
    assert list(plots) == list(PLOTS)
    for files in plots.values():
        assert files["png"].startswith(b"\x89PNG\r\n")
        assert ElementTree.fromstring(files["svg"]).tag == "{http://www.w3.org/2000/svg}svg"
        assert b"<dc:date>" not in files["svg"] and b"matplotlib.org" not in files["png"]


def test_equal_statistics_give_equal_bytes_in_another_process_and_style(plots, tmp_path):
    (tmp_path / "matplotlibrc").write_text("axes.facecolor: ff0000\nfont.size: 30\n")
    script = (
        "import hashlib\n"
        "from data_prep.dataset import plots\n"
        "from tests.data_prep.dataset.test_statistics import document_of\n"
        "plots.PLOTS = {'transitions': plots.PLOTS['transitions']}\n"
        "drawn = dict(plots.draw_plots(document_of()))['transitions']\n"
        "print(hashlib.sha256(drawn['svg'] + drawn['png']).hexdigest())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "MATPLOTLIBRC": str(tmp_path), "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    ours = hashlib.sha256(plots["transitions"]["svg"] + plots["transitions"]["png"]).hexdigest()
    assert ran.stdout.strip() == ours


@pytest.mark.slow
def test_statistics_of_nothing_are_drawn():
    names = [name for name, _ in draw_plots(Gathered().document())]
    assert names == list(PLOTS)


def test_matplotlib_is_not_imported_by_importing_the_export():
    script = (
        "import sys, data_prep.dataset.export; print({'matplotlib', 'pyarrow'} & set(sys.modules))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "set()"


def test_the_page_loads_nothing_and_shows_ours_beside_theirs(plots):
    page = page_of(plots)
    linked = re.findall(r"""(?:src|href)=["']?([^"'> ]+)""", page)
    assert linked and all(link.startswith(("#", "data:image/png;base64,")) for link in linked)
    assert "<script" not in page and "@import" not in page and "url(http" not in page
    assert page.count("<svg") == len(PLOTS) and "<?xml" not in page and "<!DOCTYPE svg" not in page
    row = re.search(r"<tr><td>craving to satisfaction</td>.*?</tr>", page)
    assert row and ">0.500<" in row.group() and ">0.470<" in row.group()
    assert ">15,087<" in page and "about 0.800" in page
    assert "2 videos repeat another one, in 1 groups" in page


def test_what_is_undefined_is_a_dash_and_no_zero(plots):
    page = page_of(plots, document=Gathered().document())
    row = re.search(r"<tr><td>mean video seconds</td>.*?</tr>", page)
    assert row and ">\u2013<" in row.group() and ">0.0<" not in row.group()


def test_names_are_text(plots):
    page = page_of(plots, strata="genre: <script>alert('x')</script>&", provenances={"<b>": 5})
    assert "<script" not in page and "<b>" not in page
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;" in page


def test_drafts_are_called_drafts(plots):
    assert "verified by nobody" in page_of(plots, provenances={"draft": 5})
    assert "verified by nobody" not in page_of(plots)
