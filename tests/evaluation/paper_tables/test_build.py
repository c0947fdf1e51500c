"""Which numbers stand in which cell, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from affect.config import load_config
from evaluation.clips import load_clips, read_truths
from evaluation.human.results import HumanResults, HumanScoreRow, HumanSystem, write_human_results
from evaluation.metrics import Bootstrap, compare_clips, score_clips
from evaluation.paper_tables.build import make_tables
from evaluation.paper_tables.config import TablesConfig
from evaluation.paper_tables.document import BEST, SECOND, PaperTable
from evaluation.paper_tables.judged import DIMENSIONS
from evaluation.paper_tables.rewards_on import TERMS
from evaluation.predictions import read_predictions
from rewards.constants import TERMS as REWARD_TERMS
from tests.evaluation.paper_tables.made_runs import judge, make_rows, make_run, score_tsl

GPT = "judge_paper.gpt-4o"


def make(systems: list[dict[str, Any]], **settings: Any) -> list[PaperTable]:
    groups = [{"title": "Ours", "systems": systems}]
    given = {"replicates": 200, "groups": groups, **settings}
    return make_tables(load_config(TablesConfig, None, given))


def system(label: str, *runs: Path, **more: Any) -> dict[str, Any]:
    return {"label": label, "run": [str(run) for run in runs], **more}


def cell_means(table: PaperTable, label: str) -> dict[str, float | None]:
    line = next(line for line in table.lines if line.label == label)
    return {column.key: cell.mean for column, cell in zip(table.columns, line.cells, strict=True)}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return make_rows(tmp_path / "rows.jsonl")


def test_table_2_in_literal_numbers(tmp_path: Path, rows: Path) -> None:
    sft = make_run(tmp_path / "sft", rows, "RHUM")
    grpo = make_run(tmp_path / "grpo", rows, "RRHU")
    judge(sft, GPT, 3.0)
    judge(grpo, GPT, 3.5, unscored=2)
    (table,) = make([system("SFT", sft), system("GRPO", grpo)], base="SFT")
    assert (table.number, table.protocol, table.judge) == (2, "strict", GPT)
    assert [column.title for column in table.columns] == [
        "SC-Acc", "mIoU", "Emo-Acc", "VG", "CL", "VC", "TC", "AC", "Avg",
    ]  # fmt: skip
    # SFT: 8 places, tIoU 1, 1, .5, 0 and zeros; right labels 2 and 1. SC-Acc 1 of 4.
    sft_means = cell_means(table, "SFT")
    assert sft_means["miou_segment"] == pytest.approx(2.5 / 8)
    assert sft_means["emo_acc"] == pytest.approx(3 / 8) and sft_means["sc_acc"] == 0.25
    assert sft_means["average"] == 3.0
    assert cell_means(table, "GRPO")["miou_segment"] == pytest.approx(4.5 / 8)
    first, second = table.lines
    assert {cell.place for cell in first.cells} == {SECOND}
    assert {cell.place for cell in second.cells} == {BEST}
    assert first.counts[0] is not None and first.counts[0].text == "2 / 1 / 1"
    judged = second.counts[1]
    assert judged is not None
    assert judged.parts == {
        "judged": 6, "gated": 1, "unscored": 2, "unparsed clips": 1, "missing clips": 0,
    }  # fmt: skip
    assert "Protocol strict" in table.caption and GPT in table.caption and table.notes == ()


def test_scores_and_differences_are_those_of_the_metrics(tmp_path: Path, rows: Path) -> None:
    runs = {"SFT": "RHUM", "GRPO": "RRHU"}
    folders = {name: make_run(tmp_path / name, rows, letters) for name, letters in runs.items()}
    truths = read_truths(rows)
    clips = {
        name: load_clips(truths, read_predictions(folder / "predictions" / "test.jsonl"))
        for name, folder in folders.items()
    }
    for protocol in ("strict", "paper", "released"):
        (table,) = make(
            [system(name, folder) for name, folder in folders.items()],
            base="SFT",
            protocol=protocol,
        )
        assert f"Protocol {protocol}" in table.caption
        expected = {
            (name, row.metric): row
            for name, of_run in clips.items()
            for row in score_clips(of_run, [protocol], Bootstrap(200))
        }
        for line in table.lines:
            for column, cell in zip(table.columns[:3], line.cells[:3], strict=True):
                row = expected[line.label, column.key]
                assert (cell.mean, cell.low, cell.high) == (row.mean, row.low, row.high)
        compared = {
            row.metric: row
            for row in compare_clips(
                ("SFT", clips["SFT"]), ("GRPO", clips["GRPO"]), [protocol], Bootstrap(200)
            )
        }
        assert [one.label for one in table.differences] == ["GRPO"] * 3
        for one in table.differences:
            row_of = compared[one.column]
            assert one.mean == pytest.approx(row_of.difference)
            assert (one.low, one.high) == pytest.approx((row_of.low, row_of.high))


def test_runs_under_one_label_are_averaged(tmp_path: Path, rows: Path) -> None:
    a, b = make_run(tmp_path / "a", rows, "RRRR"), make_run(tmp_path / "b", rows, "RRUU")
    other = make_run(tmp_path / "c", rows, "UUUU")
    judge(a, GPT, 3.0)
    judge(b, GPT, 4.0)
    (table,) = make([system("two", a, b), system("one", other)], base="one")
    line = table.lines[0]
    assert line.cells[1].mean == 0.75 and line.cells[1].by_run == (1.0, 0.5)
    assert line.cells[1].low is not None
    average = line.cells[-1]
    assert average.mean == 3.5 and average.by_run == (3.0, 4.0) and average.low is None
    assert line.counts[0] is not None and line.counts[0].text == "6 / 2 / 0"
    assert line.runs == ("a", "b")
    assert [note for note in table.notes if note.startswith("two: mean over 2 runs")]
    assert "mIoU 100.0, 50.0" in "".join(table.notes)
    assert "two minus one: means over 2 and 1 runs" in "".join(table.notes)


def test_nothing_is_a_dash_with_its_reason_and_never_0(tmp_path: Path, rows: Path) -> None:
    a, b = make_run(tmp_path / "a", rows, "RRRR"), make_run(tmp_path / "b", rows, "UUUU")
    judge(a, GPT, 3.0)
    judge(b, "judge_hardened.gpt-4o", 5.0)
    with pytest.raises(ValueError, match=r"judgements by judge_hardened\.gpt-4o, judge_paper\.gpt"):
        make([system("a", a), system("b", b)])
    (table,) = make([system("a", a), system("b", b)], judge=GPT)
    cell = table.lines[1].cells[-1]
    assert cell.mean is None and cell.place is None
    assert table.notes == (
        f"b (VG to Avg): not judged by {GPT}; judge_hardened.gpt-4o did, and judges are not mixed.",
    )
    assert table.lines[1].counts[1] is None
    # One value in a column is not the best of anything.
    assert table.lines[0].cells[-1].place is None
    # Under `released` a run without any reply that can be read has no mean.
    (table,) = make([system("a", a), system("b", b)], judge=GPT, protocol="released")
    assert cell_means(table, "b")["miou_segment"] is None
    with pytest.raises(ValueError, match=r"no system has judgements by 'judge_paper\.x'; there"):
        make([system("a", a)], judge="judge_paper.x")


def test_judgements_that_were_made_differently_are_not_mixed(tmp_path: Path, rows: Path) -> None:
    a, b = make_run(tmp_path / "a", rows, "RRRR"), make_run(tmp_path / "b", rows, "RRRR")
    judge(a, GPT, 3.0)
    judge(b, GPT, 3.0, samples=3)
    with pytest.raises(ValueError, match="asked with another samples about b than about a"):
        make([system("a", a), system("b", b)])


def test_runs_on_different_rows_are_refused(tmp_path: Path, rows: Path) -> None:
    a = make_run(tmp_path / "a", rows, "RRRR")
    b = make_run(tmp_path / "b", make_rows(tmp_path / "others.jsonl", 3), "RRR")
    with pytest.raises(ValueError, match=r"b/predictions/test\.jsonl: answers other rows"):
        make([system("a", a), system("b", b)])
    rows.write_text(rows.read_text().replace("Joy", "Calmness", 1))
    with pytest.raises(ValueError, match=r"answers other rows than .* holds now"):
        make([system("a", a)])


def test_ties_share_a_place(tmp_path: Path, rows: Path) -> None:
    replies = {"a": "RRUU", "b": "URRU", "c": "RUUU", "d": "UUUU"}
    runs = {name: make_run(tmp_path / name, rows, letters) for name, letters in replies.items()}
    (table,) = make([system(name, run) for name, run in runs.items()])
    assert [line.cells[1].place for line in table.lines] == [BEST, BEST, SECOND, None]
    (table,) = make([system("a", runs["a"]), system("b", runs["b"])])
    assert [line.cells[1].place for line in table.lines] == [None, None]


def test_table_7_reads_the_marks_from_each_run(tmp_path: Path, rows: Path) -> None:
    assert TERMS == REWARD_TERMS
    full = make_run(tmp_path / "full", rows, "RRRR", {"preset": "paper"})
    without = make_run(tmp_path / "w", rows, "RRHU", {"preset": "paper", "remove": ["count"]})
    zero = make_run(tmp_path / "z", rows, "RRHU", {"weights": {"seg": 0.0, "emo": 0.5}})
    sft = make_run(tmp_path / "sft", rows, "RUUU")
    systems = [
        system("full", full),
        system("no count", without),
        system("z", zero),
        system("SFT", sft),
    ]
    two, seven = make(systems)
    assert (two.number, seven.number) == (2, 7)
    marks = {line.label: [cell.is_on for cell in line.cells[:5]] for line in seven.lines}
    assert marks == {
        "full": [True] * 5,
        "no count": [True, False, True, True, True],
        "z": [True, True, False, True, True],
        "SFT": [None] * 5,
    }
    assert "Reward presets: paper" in seven.caption
    assert seven.notes == ("SFT (R_struct to R_reason): not trained on rewards.",)
    with pytest.raises(ValueError, match="different reward terms; give them labels"):
        make([system("x", full, without)], tables=[7])
    make_run(tmp_path / "bad", rows, "RRRR", {"remove": ["counts"]})
    with pytest.raises(ValueError, match=r"reward\.remove: no term is called 'counts'"):
        make([system("x", tmp_path / "bad")])


def test_table_6_names_both_kinds(tmp_path: Path) -> None:
    for name, mean in {"a": 0.2, "b": 0.3}.items():
        score_tsl(tmp_path / name, mean)
    systems = [
        system("a", tmp_path / "a", tsl="tsl"), system("b", tmp_path / "b", tsl="tsl"),
        system("c", tmp_path / "c"), system("ab", tmp_path / "a", tmp_path / "b", tsl="tsl"),
    ]  # fmt: skip
    # No predictions are needed for it.
    (table,) = make(systems, tables=[6])
    assert [column.title for column in table.columns] == [
        "mAP@.1", "mAP@.2", "mAP@.3", "mAP@AVG", "Recall (published kind)",
        "F2 (published kind)", "Recall (ordinary)", "F2 (ordinary)",
    ]  # fmt: skip
    a, b, c, both = table.lines
    assert a.cells[0].mean == 0.2 and b.cells[0].place == BEST and a.counts[0] is not None
    assert a.counts[0].text == "90 / 8 / 2"
    assert c.cells[0].mean is None and c.cells[0].why == "not scored on TSL-300"
    assert both.cells[0].mean == pytest.approx(0.25) and both.cells[0].low is None
    assert "Ties: misses first" in table.caption
    score_tsl(tmp_path / "b", 0.3, policy="both")
    with pytest.raises(ValueError, match="a and b were scored under different readings"):
        make(systems, tables=[6])
    score_tsl(tmp_path / "b", 0.3, labels="other")
    with pytest.raises(ValueError, match="different annotations"):
        make(systems, tables=[6])
    with pytest.raises(ValueError, match=r"nothing\.json: a has no such scores"):
        make([system("a", tmp_path / "a", tsl="nothing")], tables=[6])


def test_table_3_shows_what_experts_rated(tmp_path: Path, rows: Path) -> None:
    run = make_run(tmp_path / "a", rows, "RRRR")
    results = HumanResults(
        name="study", experts=("e1", "e2"), num_videos=4, num_items=8, failures="left_out", seed=0,
        systems=(
            HumanSystem(system="a", num_videos=4, num_segments=8, num_unparsed=1, num_missing=0),
        ),
        rows=tuple(
            HumanScoreRow(system="a", dimension=name, mean=3.0, low=2.5, high=3.5,
                          num_ratings=14, num_missing=2, num_videos=4)
            for name in DIMENSIONS
        ),
        num_missing={"e1": 2, "e2": 0}, expert_agreement=(), judge_agreement=(),
    )  # fmt: skip
    path = tmp_path / "results.json"
    write_human_results(path, results)
    systems = [system("a", run), system("b", make_run(tmp_path / "b", rows, "RRRR"))]
    _, table = make(systems, human=str(path))
    assert table.number == 3 and cell_means(table, "a")["average"] == 3.0
    count = table.lines[0].counts[0]
    assert count is not None and count.text == "70 / 10 / 0 / 4 / 1 / 0"
    assert table.notes == ("b (VG to Avg): not rated by experts.",)
    assert "2 experts, 4 videos" in table.caption
    with pytest.raises(ValueError, match="rated a, none of which"):
        make([systems[1]], human=str(path))
    with pytest.raises(ValueError, match="table 3 needs the results"):
        make(systems, tables=[3])


def test_groups_say_where_they_stand(tmp_path: Path, rows: Path) -> None:
    a, b = make_run(tmp_path / "a", rows, "RRRR"), make_run(tmp_path / "b", rows, "RRUU")
    groups = [
        {"title": "Tuned", "tables": [5], "systems": [system("b", b)]},
        {"title": "Ours", "tables": [2, 5], "systems": [system("a", a)]},
    ]
    config = load_config(TablesConfig, None, {"groups": groups, "replicates": 10})
    two, five = make_tables(config)
    assert [line.label for line in two.lines] == ["a"]
    assert [(line.group, line.label) for line in five.lines] == [("Tuned", "b"), ("Ours", "a")]
    assert "table 5" in five.caption
    config = load_config(TablesConfig, None, {"groups": groups, "tables": [7], "replicates": 10})
    with pytest.raises(ValueError, match="table 7: no group is shown in it"):
        make_tables(config)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": "x"}, "no system is called 'x'"),
        ({"groups": []}, "groups"),
        ({"groups": [{"systems": [{"label": "a", "run": []}]}]}, "run"),
        ({"groups": [{"systems": [{"label": "a", "run": "r", "rum": 1}]}]}, "rum"),
        ({"tables": [4]}, "tables"),
        ({"groups": [{"systems": [{"label": "a", "run": "r"}, {"label": "a", "run": "s"}]}]},
         "list runs that differ in their seed under one label"),
    ],
)  # fmt: skip
def test_wrong_configurations(settings: dict[str, Any], message: str) -> None:
    given = {"groups": [{"systems": [{"label": "a", "run": "r"}]}], **settings}
    with pytest.raises(ValueError, match=message):
        load_config(TablesConfig, None, given)
