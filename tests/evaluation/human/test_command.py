"""The command from runs to results: what it writes, prints and refuses."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affect.sheets.ratings import read_ratings
from evaluation.human.__main__ import main
from evaluation.human.questions import FORM
from evaluation.human.results import (
    RATED_COLUMNS,
    HumanResults,
    read_human_results,
    system_rows,
    write_human_results,
)
from evaluation.human.sheets import write_study
from evaluation.human.study import StudyKey
from evaluation.human.table import human_tables
from evaluation.runs import load_runs
from tests.evaluation.human.studies import (
    fill,
    judged,
    read_lines,
    system_of,
    two_segments,
    write_judgements,
    write_runs,
    write_sheet,
)

SYSTEMS = ("base", "sft", "grpo")


def make_study(tmp_path: Path) -> Path:
    """Three runs on two clips, base without a reply to one of them; two experts' empty sheets."""
    replies: dict[str, dict[str, str | None]] = {
        name: {"a": two_segments(), "b": two_segments()} for name in SYSTEMS
    }
    replies["base"]["b"] = "no idea"
    folders = [str(path) for path in write_runs(tmp_path, replies)]
    labels = [f"--label={name}={tmp_path / name}" for name in SYSTEMS]
    options = ["--out", str(tmp_path / "study"), "--videos", "2", "--experts", "2", *labels]
    assert main(["sheets", *folders, *options]) == 0
    return tmp_path / "study"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return make_study(tmp_path)


def rate_by_system(study: Path) -> None:
    """base 1, sft 3, grpo 4; the second expert gives grpo 5, and leaves one dimension open."""
    systems = system_of(StudyKey.read(study))
    given_to = {"base": "1", "sft": "3", "grpo": "4"}
    fill(study / "expert_1.csv", lambda line, name: given_to[systems[line["item"]]])
    given_to["grpo"] = "5"
    fill(
        study / "expert_2.csv",
        lambda line, name: "" if name == "causal_logic" else given_to[systems[line["item"]]],
    )


def test_from_runs_to_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = make_study(tmp_path)
    told = capsys.readouterr()
    assert "10 segments of 2 videos by 3 systems: 50 ratings for each of 2 experts" in told.out
    assert "keep key.json back" in told.err
    rate_by_system(study)
    for number, name in enumerate(SYSTEMS):
        clips = "a" if name == "base" else "ab"
        write_judgements(
            tmp_path / name, [judged(clip, place, number + 1) for clip in clips for place in (0, 1)]
        )
    assert main(["ratings", str(study)]) == 0
    printed = capsys.readouterr()
    assert "results.json" in printed.err
    results = read_human_results(study / "results.json")
    means = {
        name: [row.mean for row in system_rows(results, name)] for name in SYSTEMS
    }  # VG, CL, VC, TC, AC, Avg
    assert means["base"] == [1.0] * 6
    assert means["sft"] == [3.0] * 6
    assert means["grpo"] == [4.5, 4.0, 4.5, 4.5, 4.5, 4.0]
    assert [(one.system, one.num_unparsed) for one in results.systems] == [
        ("base", 1), ("sft", 0), ("grpo", 0),
    ]  # fmt: skip
    assert results.num_missing == {"expert_1": 0, "expert_2": 10}
    logic = system_rows(results, "grpo")[1]
    assert (logic.num_ratings, logic.num_missing) == (4, 4)
    segment = results.judge_agreement[0]
    assert (segment.judge, segment.level, segment.dimension) == (
        "judge_paper.gpt-4o", "segment", "visual_grounding",
    )  # fmt: skip
    # 1, 3, 4.5 against 1, 2, 3, two, four and four times: products of the deviations sum to 9.6,
    # squares to 16.6 and 5.6.
    assert segment.pearson.value == pytest.approx(9.6 / (16.6 * 5.6) ** 0.5)
    assert segment.spearman.value == pytest.approx(1.0)
    assert [row.level for row in results.judge_agreement[6::6]] == ["within_system", "system"]
    for text in ("4.50", "grpo", "alpha (ordinal)", "0.996", "Spearman"):
        assert text in printed.out, printed.out


def test_json_is_what_is_written(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rate_by_system(study)
    capsys.readouterr()
    assert main(["ratings", str(study), "--json", "--failures", "zero"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((study / "results.json").read_text(encoding="utf-8"))
    assert printed["failures"] == "zero"
    # base: two ratings of 1 by each expert, and a clip whose truth has two segments.
    base = printed["rows"][0]
    assert (base["mean"], base["num_ratings"], base["num_zeros"]) == (0.5, 4, 4)
    assert printed["judge_agreement"] == []


def test_the_table_shows_what_was_counted_as_0(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """base: 5 dimensions x 2 experts x 2 segments, 2 open; and a failed clip of 2 true segments."""
    rate_by_system(study)
    capsys.readouterr()
    assert main(["ratings", str(study), "--failures", "zero"]) == 0
    results = read_human_results(study / "results.json")
    systems, *_ = human_tables(results)
    cells = {str(column.header): list(column.cells) for column in systems.columns}
    assert cells["ratings"][0] == "18" and cells["counted as 0"][0] == "20"
    assert main(["ratings", str(study)]) == 0
    systems, *_ = human_tables(read_human_results(study / "results.json"))
    cells = {str(column.header): list(column.cells) for column in systems.columns}
    assert cells["counted as 0"][0] == "0"


def test_without_judges(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rate_by_system(study)
    assert main(["ratings", str(study)]) == 0
    assert "No judge has judged these runs" in capsys.readouterr().out
    (tmp_path / "sft").rename(tmp_path / "elsewhere")
    assert main(["ratings", str(study)]) == 2
    assert "--run sft=RUN" in capsys.readouterr().err
    assert main(["ratings", str(study), "--no-judges"]) == 0
    assert main(["ratings", str(study), "--run", f"sft={tmp_path / 'elsewhere'}"]) == 0
    sheets = [str(study / f"expert_{number}.csv") for number in (1, 2)]
    assert main(["ratings", str(study), "--no-judges", *sheets]) == 0  # options may stand between


def test_unfilled_sheets_are_all_missing(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ratings", str(study)]) == 0
    results = read_human_results(study / "results.json")
    assert {row.mean for row in results.rows} == {None}
    assert results.num_missing == {"expert_1": 50, "expert_2": 50}
    assert "no item has two ratings" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["ratings", "gone"], "gone/key.json: there is no such file; write the sheets first"),
        (["ratings", "STUDY", "--run", "nobody=x"], "--run nobody=x: write SYSTEM=RUN"),
        (["ratings", "STUDY", "--replicates", "0"], "needs 1 replicate or more"),
        (["ratings", "STUDY", "gone.csv"], "gone.csv: there is no such file"),
        (["sheets", "gone", "--out", "x"], "gone: there is no such run folder"),
    ],
)
def test_mistakes_are_one_line(
    study: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    capsys.readouterr()
    assert main([str(study) if one == "STUDY" else one for one in arguments]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1


def test_a_rating_beyond_the_scale_is_named(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rate_by_system(study)
    lines = read_lines(study / "expert_2.csv")
    lines[3]["viewer_centricity"] = "6"
    write_sheet(study / "expert_2.csv", lines)
    assert main(["ratings", str(study)]) == 2
    assert (
        "expert_2.csv:5: viewer_centricity: '6' is no whole number from 0 to 5"
        in capsys.readouterr().err
    )
    assert not (study / "results.json").exists()


def test_what_is_no_results_file(study: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.json: there is no such file"):
        read_human_results(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text('{"rows": []}')
    with pytest.raises(ValueError, match=r"bad\.json: not the results of a human evaluation"):
        read_human_results(tmp_path / "bad.json")
    assert main(["ratings", str(study), "--no-judges"]) == 0
    results = read_human_results(study / "results.json")
    write_human_results(tmp_path / "copy.json", results)
    assert (tmp_path / "copy.json").read_bytes() == (study / "results.json").read_bytes()
    assert [row.dimension for row in results.rows[:6]] == list(RATED_COLUMNS)
    assert isinstance(results, HumanResults)


PIECES = [*"a=+-@'\",;<>&\n\r\t ", "\ud800", "\u202e", "\x00", "\uff1d", "</script>", "=1+1"]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@given(st.lists(st.tuples(HOSTILE, HOSTILE), min_size=2, max_size=2), st.data())
@settings(max_examples=25, deadline=None)
def test_any_text_goes_out_and_every_rating_comes_back(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str]], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("study")
    segments = [
        {"start_time": 4.0 * n, "end_time": 4.0 * n + 4, "emotion": emotion, "reason": reason}
        for n, (emotion, reason) in enumerate(said)
    ]
    runs = write_runs(root, {"one": {"a": json.dumps({"segments": segments})}})
    key = write_study(root / "study", load_runs(runs, "test", labels={}), 1, 1)
    path = root / "study" / "expert_1.csv"
    lines = read_lines(path)
    given_ratings: dict[tuple[str, str], int | None] = {}
    for line in lines:
        for name in FORM.questions:
            rating = data.draw(st.sampled_from([None, 0, 1, 2, 3, 4, 5]))
            given_ratings[line["item"], name] = rating
            line[name] = "" if rating is None else str(rating)
        assert not line["reason"].startswith(tuple("=+-@\t\r\n"))
    write_sheet(path, lines)
    read = read_ratings(FORM, key, root / "study")
    for item in key.items:
        for name in FORM.questions:
            assert read.of_item(name, item.id) == [given_ratings[item.id, name]]
