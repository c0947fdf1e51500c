"""The report's sections: what they say is what was scored, and nothing in them can do harm."""

import re
from pathlib import Path

import pytest

from evaluation.analysis.analyse import analyse
from evaluation.analysis.document import Analysis
from evaluation.metrics import compare_clips
from evaluation.report.render import html_of
from evaluation.report.sections import PageSection, contents_of, sections_of
from evaluation.run_results import RunResults, load_run
from evaluation.tables import percent
from tests.evaluation.files import reply, write_predictions, write_rows
from tests.evaluation.report.drawn_runs import drawn_run, write_drawn_rows
from tests.evaluation.report.page_parts import Parts, read_html

EMOTIONS = ("Joy", "Fear", "Sadness")
HOSTILE = '"><script>alert(1)</script><img src=//evil.example onerror=alert(2)> $x_1$ \u202e&amp;'
JUDGE = "judge_paper.gpt-4o"


def strict(runs: list[RunResults]) -> dict[str, Analysis]:
    return {run.label: analyse(run.truths, run.clips, "strict", run.bootstrap) for run in runs}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunResults]:
    folder = tmp_path_factory.mktemp("runs")
    rows = write_drawn_rows(folder / "rows.jsonl", 40, seed=0, emotions=EMOTIONS)
    return [
        drawn_run(
            folder / "base", rows, label=HOSTILE, share_right=0.3, seed=1,
            others=("Fear", "<b>Bliss</b>"),
        ),
        drawn_run(
            folder / "grpo", rows, label="grpo", share_right=0.8, seed=2, training="grpo",
            others=EMOTIONS, judges=[JUDGE],
        ),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def analyses(runs: list[RunResults]) -> dict[str, Analysis]:
    return strict(runs)


@pytest.fixture(scope="module")
def sections(runs: list[RunResults], analyses: dict[str, Analysis]) -> dict[str, PageSection]:
    return {one.id: one for one in sections_of(runs, analyses)}


@pytest.fixture(scope="module")
def parts(sections: dict[str, PageSection]) -> dict[str, Parts]:
    return {name: read_html(one.html) for name, one in sections.items()}


def shown(label: str) -> str:
    return label.replace("\u202e", "\\u202e")


def test_the_page_has_all_sections_in_order(sections: dict[str, PageSection]) -> None:
    assert list(sections) == [
        "headline", "protocols", "emotions", "transitions", "boundaries", "breakdowns", "judges",
        "training", "provenance",
    ]  # fmt: skip


def test_headline_numbers_are_the_scores_beside_their_counts(
    runs: list[RunResults], parts: dict[str, Parts]
) -> None:
    table = parts["headline"].tables["headline"]
    assert table[0] == [
        "run", "SC-Acc", "mIoU per segment", "Emo-Acc", "valid timeline", "scored", "unparsed",
        "missing",
    ]  # fmt: skip
    for run, line in zip(runs, table[1:], strict=True):
        scores = [
            run.score("strict", name)
            for name in ("sc_acc", "miou_segment", "emo_acc", "valid_timeline")
        ]
        assert line[0] == shown(run.label)
        assert line[1:5] == [percent(one.mean, one.low, one.high) for one in scores]
        counts = [int(text) for text in line[5:]]
        assert counts == [scores[0].num_scored, scores[0].num_unparsed, scores[0].num_missing]
        assert sum(counts) == 40 and counts[0] > 0 and counts[1] + counts[2] > 0


def test_differences_are_the_paired_ones(runs: list[RunResults], parts: dict[str, Parts]) -> None:
    base, other = runs
    expected = {
        row.metric: percent(row.difference, row.low, row.high, "+")
        for row in compare_clips(("a", base.clips), ("b", other.clips), ["strict"], base.bootstrap)
    }
    [line] = parts["headline"].tables["differences"][1:]
    assert line == [
        "grpo", expected["sc_acc"], expected["miou_segment"], expected["emo_acc"],
        expected["valid_timeline"], "40",
    ]  # fmt: skip


def test_every_protocol_has_its_counts_and_a_lack_is_no_zero(
    runs: list[RunResults], parts: dict[str, Parts]
) -> None:
    table = parts["protocols"].tables["protocols"]
    assert table[0] == [
        "metric", "run", "paper", "paper clips", "released", "released clips", "strict",
        "strict clips",
    ]  # fmt: skip
    lines = {(line[0], line[1]): line[2:] for line in table[1:]}
    score = runs[1].score("released", "emo_acc")
    line = lines["Emo-Acc at any IoU", "grpo"]
    assert line[2] == percent(score.mean, score.low, score.high)
    assert line[3] == f"{score.num_scored} / {score.num_unparsed} / {score.num_missing}"
    assert line[0] == line[1] == line[4] == "-"
    for cells in lines.values():
        for at in (0, 2, 4):
            assert (cells[at] == "-") == (cells[at + 1] == "-"), "no number without its counts"
    for name in ("paper", "released", "strict"):
        assert f"{name}: flatters" in parts["protocols"].text


def test_emotions_are_sorted_by_frequency_with_their_counts(
    runs: list[RunResults], analyses: dict[str, Analysis], parts: dict[str, Parts]
) -> None:
    analysis = analyses["grpo"]
    rows = {row.emotion: row for row in analysis.emotions}
    lines = [line for line in parts["emotions"].tables["emotions"][1:] if line[1] == "grpo"]
    assert len(lines) == 3
    counts = [int(line[2]) for line in lines]
    assert counts == sorted(counts, reverse=True)
    for line in lines:
        row = rows[line[0]]
        assert line[2:5] == [str(row.num_truth), str(row.num_predicted), str(row.num_correct)]
        assert line[5] == percent(row.recall.mean, row.recall.low, row.recall.high)
        assert line[6] == percent(row.precision.mean, row.precision.low, row.precision.high)


def test_confusions_add_up_and_outsiders_are_named(
    runs: list[RunResults], analyses: dict[str, Analysis], parts: dict[str, Parts]
) -> None:
    for at, run in enumerate(runs, 1):
        confusion = analyses[run.label].confusion
        lines = parts["emotions"].tables[f"confusion-{at}"][1:]
        assert sum(int(line[2]) for line in lines) == sum(map(sum, confusion.counts))
    outsiders = [line for line in parts["emotions"].tables["confusion-1"] if "Bliss" in line[1]]
    named = [name for name in analyses[HOSTILE].confusion.labels if "Bliss" in name]
    assert bool(outsiders) == bool(named)


def test_boundaries_are_those_of_the_analysis(
    runs: list[RunResults], analyses: dict[str, Analysis], parts: dict[str, Parts]
) -> None:
    for run, line in zip(runs, parts["boundaries"].tables["boundaries"][1:], strict=True):
        errors = analyses[run.label].boundaries
        assert line[1:4] == [str(errors.num_paired), str(errors.num_missed), str(errors.num_extra)]
        assert line[4] == f"{errors.mean_absolute_seconds:.2f}"
        share = errors.within["0.5"]
        column = next(
            at
            for at, name in enumerate(parts["boundaries"].tables["boundaries"][0])
            if "0.5" in name
        )
        assert line[column] == percent(share.mean, share.low, share.high)


def test_groups_have_their_clips(runs: list[RunResults], parts: dict[str, Parts]) -> None:
    lines = [line for line in parts["breakdowns"].tables["by-genre"][1:] if line[1] == "grpo"]
    assert sum(int(text) for line in lines for text in line[5:]) == 40
    assert "Sports & <Games>" in [line[0] for line in lines]


def test_judges_scores_stand_beside_their_counts(
    runs: list[RunResults], parts: dict[str, Parts]
) -> None:
    lines = parts["judges"].tables["judge-1"][1:]
    rows = runs[1].judges[JUDGE].scores
    assert [line[2] for line in lines] == [
        f"{row.mean:.2f} [{row.low:.2f}, {row.high:.2f}]" for row in rows
    ]
    assert all(line[3:] == ["90", "7", "3", "2", "1"] for line in lines)
    assert f"Not judged by it: {shown(HOSTILE)}." in parts["judges"].text


def test_training_is_of_the_run_that_was_trained(parts: dict[str, Parts]) -> None:
    text = parts["training"].text
    assert f"Without a training log: {shown(HOSTILE)}." in text
    assert "The same in every step, so not drawn: replies dropped 0." in text
    assert {line[1] for line in parts["training"].tables["reward"][1:]} == {"grpo"}
    assert "learning rate" in [line[0] for line in parts["training"].tables["policy"]]


def test_hostile_labels_stay_text(
    sections: dict[str, PageSection], parts: dict[str, Parts]
) -> None:
    assert any(shown(HOSTILE) in one.text for one in parts.values())
    for name, one in parts.items():
        assert not one.unclosed, name
        for tag, attributes in one.tags:
            assert tag not in ("script", "img", "iframe", "object", "link", "b"), (name, tag)
            assert not any(key.startswith("on") for key in attributes), (name, tag)
        assert "\u202e" not in sections[name].html


def test_nothing_is_loaded_and_every_reference_is_within(
    sections: dict[str, PageSection], parts: dict[str, Parts]
) -> None:
    for name, section in sections.items():
        linked = re.findall(r"""(?:\bsrc|href)\s*=\s*["']([^"']*)""", section.html)
        assert all(link.startswith("#") for link in linked), name
        assert "url(http" not in section.html and "@import" not in section.html
        assert "<style" not in section.html
        ids = {attributes["id"] for _, attributes in parts[name].tags if "id" in attributes}
        referred = re.findall(r"(?:href=\"|url\()#([^\")]+)", section.html)
        assert set(referred) <= ids, name


def test_ids_are_unique_on_the_page(parts: dict[str, Parts]) -> None:
    ids = [
        attributes["id"] for one in parts.values() for _, attributes in one.tags
        if "id" in attributes
    ]  # fmt: skip
    assert len(ids) == len(set(ids)) > 50


def test_plots_say_what_they_show(parts: dict[str, Parts]) -> None:
    for name, one in parts.items():
        for tag, attributes in one.tags:
            if tag == "svg":
                assert attributes["role"] == "img", name
                assert len(attributes["aria-label"] or "") > 30, name


def test_a_run_without_anything_says_so_in_sentences(tmp_path: Path) -> None:
    truths = {"a": [[0, 4, "Joy"], [4, 8, "Fear"]], "b": [[0, 8, "Joy"]]}
    rows = write_rows(tmp_path / "rows.jsonl", truths)
    write_predictions(tmp_path / "run/predictions/test.jsonl", {"a": "no", "b": None})
    run = load_run(tmp_path / "run", "test", label="run", rows=rows)
    contents = {one.id: one for one in contents_of([run], strict([run]))}
    assert "No judge has scored" in html_of(contents["judges"])
    assert "so there are no curves" in html_of(contents["training"])
    boundaries = html_of(contents["boundaries"])
    assert "No boundary has a partner" in boundaries
    assert read_html(boundaries).tables["boundaries"][1][4:6] == ["-", "-"], "no 0 for nothing"
    assert "The rows name no genre for any clip." in html_of(contents["breakdowns"])
    headline = read_html(html_of(contents["headline"])).tables["headline"][1]
    assert headline[0] == "run" and headline[5:] == ["0", "1", "1"]
    assert "differences" not in read_html(html_of(contents["headline"])).tables


def test_a_perfect_run_is_drawn_without_a_fault(tmp_path: Path) -> None:
    truths = {"a": [[0, 4, "Joy"], [4, 8, "Fear"]], "b": [[0, 8, "Joy"]]}
    rows = write_rows(tmp_path / "rows.jsonl", truths)
    replies = {name: reply(spans) for name, spans in truths.items()}
    write_predictions(tmp_path / "run/predictions/test.jsonl", replies)
    run = load_run(tmp_path / "run", "test", label="run", rows=rows)
    contents = {one.id: one for one in contents_of([run], strict([run]))}
    [headline] = [one for one in contents["headline"].tables() if one.id == "headline"]
    assert [cell[0] for cell in headline.rows[0][1:5]] == [1.0, 1.0, 1.0, 1.0]
    lines = read_html(html_of(contents["emotions"])).tables["confusion-1"][1:]
    assert sorted(lines) == [["Fear", "Fear", "1", "1", "100.0"], ["Joy", "Joy", "2", "2", "100.0"]]


def test_mistakes_of_the_caller(runs: list[RunResults], analyses: dict[str, Analysis]) -> None:
    with pytest.raises(ValueError, match="no run to report on"):
        contents_of([], {})
    with pytest.raises(ValueError, match="two runs are called 'grpo'"):
        contents_of([runs[1], runs[1]], analyses)
    with pytest.raises(ValueError, match="'grpo' has no analysis"):
        contents_of([runs[1]], {})
