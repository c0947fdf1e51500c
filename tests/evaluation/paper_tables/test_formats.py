"""Markdown, LaTeX, JSON and terminal: marks, intervals, and hostile labels that stay text."""

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from evaluation.paper_tables import latex, markdown
from evaluation.paper_tables.__main__ import main
from evaluation.paper_tables.document import (
    BEST,
    SECOND,
    Cell,
    Column,
    Count,
    Difference,
    Line,
    PaperTable,
    shown,
)
from evaluation.paper_tables.ranking import with_places
from evaluation.paper_tables.terminal import to_rich
from tests.evaluation.paper_tables.made_runs import judge, make_rows, make_run

COLUMNS = (
    Column(key="reward_seg", title="R_seg", unit="check"),
    Column(key="miou_segment", title="mIoU", unit="percent"),
    Column(key="average", title="Avg", unit="points"),
)
COUNT = Count(of="clips", parts={"scored": 97, "unparsed": 3, "missing": 0})


def table(label: str = "GRPO", group: str = "Ours") -> PaperTable:
    best = Cell(mean=0.6134, low=0.569, high=0.657, place=BEST)
    second = Cell(mean=3.456, place=SECOND, by_run=(3.4, 3.512))
    return PaperTable(
        number=7,
        caption="Some 95 % & more.",
        protocol="strict",
        judge=None,
        columns=COLUMNS,
        counted=("clips: scored / unparsed / missing",),
        lines=(
            Line(group=group, label=label, runs=("a",), cells=(Cell(is_on=True), best, second),
                 counts=(COUNT,)),
            Line(group=group, label="SFT", runs=("b",), cells=(Cell(is_on=False), Cell(why="none"),
                 Cell(why="none")), counts=(None,)),
        ),
        differences=(
            Difference(label=label, base="SFT", column="miou_segment", mean=0.043, low=0.009,
                       high=0.078),
        ),
        notes=("SFT (mIoU): none.",),
    )  # fmt: skip


def test_markdown() -> None:
    assert markdown.to_markdown(table()) == (
        "**Table 7.** Some 95 % &amp; more.\n\n"
        "| system | R\\_seg | mIoU | Avg | clips: scored / unparsed / missing |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| *Ours* |  |  |  |  |\n"
        "| GRPO | ✓ | **61.3** <sub>[56.9, 65.7]</sub> | <u>3.46</u> | 97 / 3 / 0 |\n"
        "| SFT | ✗ | - | - | - |\n\n"
        "Differences in points, paired over the same clips:\n\n"
        "| systems | mIoU |\n"
        "| --- | ---: |\n"
        "| GRPO minus SFT | +4.3 [+0.9, +7.8] |\n\n"
        "- SFT (mIoU): none.\n"
    )


def test_latex() -> None:
    lines = latex.to_latex(table()).splitlines()
    assert r"\caption{Some 95 \% \& more.}" in lines
    assert r"\multicolumn{5}{l}{\emph{Ours}} \\" in lines
    assert (
        r"GRPO & $\checkmark$ & \textbf{61.3} {\scriptsize {[}56.9, 65.7{]}} & \underline{3.46} "
        r"& 97 / 3 / 0 \\"
    ) in lines
    assert r"SFT & $\times$ & - & - & - \\" in lines
    assert r"GRPO minus SFT & $+4.3 {[}+0.9, +7.8{]}$ \\" in lines
    assert lines.count(r"\toprule") == lines.count(r"\bottomrule") == 2


def test_terminal() -> None:
    out = io.StringIO()
    Console(file=out, width=200).print(to_rich(table("[bold]GR[/bold]PO")))
    printed = " ".join(out.getvalue().split())
    assert "61.3 [56.9, 65.7]" in printed and "97 / 3 / 0" in printed
    assert "[bold]GR[/bold]PO" in printed and "mIoU +4.3 [+0.9, +7.8]" in printed


HOSTILE = [
    "a | b", "<script>alert(1)</script>", "**x**", "`x`", "[x](javascript:1)", "a\nb\r\n| c |",
    r"\input{/etc/passwd}", "a & b % c $d$ #e _f ^g ~h {i}", "a\\\\b", "\x1b[31mred", "100%",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_labels_stay_text(text: str) -> None:
    made = table(text, text)
    lines = markdown.to_markdown(made).splitlines()
    assert len(lines) == 15
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 6 for line in lines[2:7])
    assert "<script" not in "".join(lines)
    assert not re.search(r"(?<!\\)\]\(", "".join(lines))
    source = latex.to_latex(made)
    assert r"\input" not in source and source.count(r"\begin{tabular}") == 2
    # Behind a line break these would be its arguments.
    assert not [line for line in source.splitlines() if line.startswith(("*", "["))]
    row = next(line for line in source.splitlines() if r"$\checkmark$" in line)
    assert len(re.findall(r"(?<!\\)&", row)) == 4 and row.endswith(r"\\")
    assert not re.search(r"(?<!\\)[%#]", row)
    out = io.StringIO()
    Console(file=out, width=200).print(to_rich(made))
    assert "\x1b[31m" not in out.getvalue()


@given(st.text(max_size=60))
def test_escaped_text_is_one_line_with_balanced_braces(text: str) -> None:
    escaped = latex.escape(text)
    assert "\n" not in escaped and "\n" not in markdown.escape(text)
    plain = re.sub(r"\\[{}%#&$_]", "", escaped)
    depth = 0
    for character in plain:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0 and not set("%#&$_^~<>|") & set(plain)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.6134, "percent", "61.3"), (1.0, "percent", "100.0"), (3.456, "points", "3.46")],
)
def test_shown(value: float, unit: str, text: str) -> None:
    assert shown(value, unit) == text  # type: ignore[arg-type]


def test_places_go_by_what_is_shown() -> None:
    """61.34 and 61.31 both read 61.3; 4.204 and 4.196 both read 4.20."""
    values = ((0.6134, 4.2), (0.6131, 4.196), (0.6124, 4.204), (None, 3.0))
    lines = [
        Line(
            group="",
            label=str(index),
            runs=("r",),
            cells=tuple(Cell(mean=v, why="none" if v is None else None) for v in pair),
            counts=(),
        )
        for index, pair in enumerate(values)
    ]
    placed = with_places(COLUMNS[1:], lines)
    assert [line.cells[0].place for line in placed] == [BEST, BEST, SECOND, None]
    assert [line.cells[1].place for line in placed] == [BEST, BEST, BEST, SECOND]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = make_rows(tmp_path / "rows.jsonl")
    sft, grpo = make_run(tmp_path / "sft", rows, "RRUU"), make_run(tmp_path / "grpo", rows, "RRRU")
    judge(grpo, "judge_paper.gpt-4o", 3.0)
    out = tmp_path / "tables"
    runs = [f"SFT={sft}", f"GRPO={grpo}"]
    argv = [*runs, "--base", "SFT", "--out", str(out), "--replicates", "20"]
    assert main(argv) == 0
    printed = capsys.readouterr()
    assert "75.0" in printed.out and f"wrote {out}/table2.tex" in printed.err
    stored = PaperTable.from_json((out / "table2.json").read_text())
    assert (out / "table2.md").read_text() == markdown.to_markdown(stored)
    assert (out / "table2.tex").read_text() == latex.to_latex(stored)
    assert str(tmp_path) not in (out / "table2.json").read_text()
    assert main([*argv, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [stored.model_dump(mode="json")]

    config = tmp_path / "tables.yaml"
    config.write_text(f"groups:\n  - systems:\n      - {{label: G, run: [{sft}, {grpo}]}}\n")
    assert main(["--config", str(config), "--replicates", "20", "--json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)
    assert made["lines"][0]["runs"] == ["sft", "grpo"]
    assert main([f"X={sft}", f"X={grpo}", "--replicates", "20", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)[0]["lines"][0]["runs"]) == 2


def test_mistakes_end_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for argv, message in [
        ([], "give runs, or --config FILE"),
        (["a", "--config", "b"], "give runs or --config FILE, not both"),
        (["--config", "b", "--tsl", "x"], "--tsl is for runs on the command line"),
        ([str(tmp_path / "nothing")], "there is no such run folder"),
        ([str(tmp_path), "--base", "SFT"], "no system is called 'SFT'"),
    ]:
        assert main(argv) == 2
        printed = capsys.readouterr().err
        assert message in printed and printed.count("\n") == 1
