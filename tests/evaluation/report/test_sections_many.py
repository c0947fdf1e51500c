"""Sections of one to six runs: whole, alike in every process, no label upon another."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from affect.taxonomy import DAR_EMOTIONS
from evaluation.analysis.analyse import analyse
from evaluation.analysis.document import Analysis
from evaluation.report.draw import drawn
from evaluation.report.sections import contents_of, sections_of
from evaluation.run_results import RunResults
from tests.evaluation.report.drawn_runs import drawn_run, write_drawn_rows
from tests.evaluation.report.page_parts import read_html
from tests.paths import ROOT

JUDGES = ("judge_hardened.b", "judge_paper.a")


LONG = "a run whose name says what it is and when"


def draw_runs(folder: Path, places: Iterable[int]) -> list[RunResults]:
    rows = write_drawn_rows(folder / "rows.jsonl", 24, seed=0, emotions=DAR_EMOTIONS[:6])
    names = {1: LONG}
    return [
        drawn_run(
            folder / str(at), rows, label=names.get(at, f"run {at}"), share_right=0.3 + 0.1 * at,
            seed=at,
            training=(None, "sft", "grpo")[at % 3], judges=JUDGES[: at % 3], replicates=50,
        )
        for at in places
    ]  # fmt: skip


def analyses_of(runs: Sequence[RunResults]) -> dict[str, Analysis]:
    return {run.label: analyse(run.truths, run.clips, "strict", run.bootstrap) for run in runs}


def digest_of(folder: str | Path) -> str:
    runs = draw_runs(Path(folder), [2])
    html = "".join(one.html for one in sections_of(runs, analyses_of(runs)))
    return hashlib.sha256(html.encode()).hexdigest()


@pytest.mark.slow
def test_six_runs_have_six_of_everything(tmp_path: Path) -> None:
    runs = draw_runs(tmp_path, range(6))
    sections = {one.id: read_html(one.html) for one in sections_of(runs, analyses_of(runs))}
    labels = [run.label for run in runs]
    assert [line[0] for line in sections["headline"].tables["headline"][1:]] == labels
    assert [line[0] for line in sections["headline"].tables["differences"][1:]] == labels[1:]
    assert [line[0] for line in sections["boundaries"].tables["boundaries"][1:]] == labels
    assert sum(name.startswith("confusion-") for name in sections["emotions"].tables) == 6
    judged = {line[1] for line in sections["judges"].tables["judge-1"][1:]}
    assert judged == {LONG, "run 2", "run 4", "run 5"}, "the hardened judge saw four of them"
    assert {line[1] for line in sections["judges"].tables["judge-2"][1:]} == {"run 2", "run 5"}
    assert {line[1] for line in sections["training"].tables["reward"][1:]} == {"run 2", "run 5"}
    assert {line[1] for line in sections["training"].tables["supervised"][1:]} == {
        labels[1],
        "run 4",
    }


@pytest.mark.slow
def test_equal_runs_are_equal_bytes_in_another_process(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from tests.evaluation.report.test_sections_many import digest_of\n"
        "print(digest_of(sys.argv[1]))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "3"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == digest_of(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("places", [[2], range(6)])
def test_no_two_labels_of_a_plot_overlap(tmp_path: Path, places: Iterable[int]) -> None:
    runs = draw_runs(tmp_path, places)
    for content in contents_of(runs, analyses_of(runs)):
        for plot in content.plots():
            with drawn(plot) as (figure, _):
                boxes = _label_boxes(figure)
                for at, (text, box) in enumerate(boxes):
                    for other_text, other in boxes[at + 1 :]:
                        assert not box.overlaps(other), (plot.id, text, other_text)


def _label_boxes(figure: Figure) -> list[tuple[str, Bbox]]:
    """Tick labels and titles of all panels and the legend's words, a hair smaller than drawn."""
    texts = [text for legend in figure.legends for text in legend.get_texts()]
    for axes in figure.axes:
        if axes.axison:
            texts.append(axes._left_title)
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                shown = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
                texts += [tick.label1 for tick in shown if tick.label1.get_visible()]
    boxes = [(text.get_text(), text.get_window_extent().padded(-0.6)) for text in texts]
    return [(text, box) for text, box in boxes if text]
