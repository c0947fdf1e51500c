"""From rows to sheets to a report: the command, and the report's numbers by hand."""

import json
from pathlib import Path

import pytest

from affect.records import write_sft_rows
from affect.sheets.ratings import ExpertRatings
from data_prep.dataset.expert_agreement import expert_agreement
from data_prep.dataset.human_validation import main
from data_prep.dataset.sheet_items import QUESTIONS, ValidationItem, choose_items
from tests.data_prep.dataset.test_read_ratings import change, fill
from tests.data_prep.dataset.validated_rows import make_row, make_rows


def ratings_of(label: list[list[int | None]]) -> ExpertRatings[ValidationItem]:
    """label: per item one rating per expert; all other questions get 5 from everybody."""
    rows = {"test": [make_row("a", 3)], "train": [make_row("b", 1)]}
    items: tuple[ValidationItem, ...] = choose_items(rows, 0, 1.0)[: len(label)]
    experts = ("expert_1", "expert_2", "expert_3")
    ratings: dict[str, dict[str, dict[str, int | None]]] = {
        name: {expert: {item.id: 5 for item in items} for expert in experts} for name in QUESTIONS
    }
    ratings["label"] = {
        expert: {item.id: label[n][place] for n, item in enumerate(items)}
        for place, expert in enumerate(experts)
    }
    return ExpertRatings(experts, items, ratings, ())


def test_numbers_by_hand() -> None:
    report = expert_agreement(ratings_of([[5, 5, 4], [4, 4, 4], [2, 1, None], [3, 3, 3]]))
    label = report.questions["label"]
    assert (label.num_ratings, label.num_missing) == (11, 1)
    assert label.mean == pytest.approx(38 / 11)
    assert label.share_accepted == pytest.approx(6 / 11)
    assert label.splits["test"].num_ratings == 8
    assert label.splits["train"].mean == 3.0
    assert label.splits["train"].share_accepted == 0.0
    # Experts 1 and 2: squared distances sum to 1; over all pairs (5, 4, 2, 3) x (5, 4, 1, 3):
    # 0+1+16+4, 1+0+9+1, 9+4+1+1, 4+1+4+0, in all 56.
    first = label.pair_kappas["expert_1 and expert_2"]
    assert first.value == pytest.approx(1 - 4 * 1 / 56)
    assert label.pair_kappas["expert_2 and expert_3"].num == 3
    assert label.fleiss.num == 3
    assert label.alpha.num == 4
    assert report.num_missing == {"expert_1": 0, "expert_2": 0, "expert_3": 1}
    assert report.num_items == {"test": 3, "train": 1}
    assert report.num_videos == {"test": 1, "train": 1}


def test_constant_ratings_determine_no_agreement() -> None:
    boundary = expert_agreement(ratings_of([[5, 5, 5], [4, 4, 4]])).questions["boundary"]
    assert boundary.mean == 5.0
    assert boundary.share_accepted == 1.0
    for coefficient in (boundary.fleiss, boundary.alpha, *boundary.pair_kappas.values()):
        assert coefficient.value is None
        assert coefficient.reason


def test_nothing_rated_is_nothing_found() -> None:
    label = expert_agreement(ratings_of([[None] * 3, [None] * 3])).questions["label"]
    assert (label.num_ratings, label.num_missing) == (0, 6)
    assert (label.mean, label.share_accepted) == (None, None)
    assert label.alpha.reason == "no item has two ratings"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = make_rows(tmp_path / "videos", {"test": 2, "train": 4})
    for split, listed in rows.items():
        write_sft_rows(tmp_path / f"{split}.jsonl", listed)
    sheets = tmp_path / "sheets"
    options = ["--out", str(sheets), "--video-root", str(tmp_path / "videos"), "--seed", "3"]
    options += ["--test", str(tmp_path / "test.jsonl"), "--train", str(tmp_path / "train.jsonl")]
    assert main(["write", *options, "--train-share", "0.5"]) == 0
    assert "8 segments of 4 videos for 3 experts" in capsys.readouterr().out
    for number, rating in enumerate(("5", "4", ""), 1):
        change(sheets / f"expert_{number}.csv", lambda lines, rating=rating: fill(lines, rating))
    assert main(["read", str(sheets)]) == 0
    printed = capsys.readouterr().out
    assert "4.50" in printed
    assert "100.0%" in printed
    assert main(["read", str(sheets), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads((sheets / "agreement.json").read_text(encoding="utf-8"))
    assert report["num_missing"] == {"expert_1": 0, "expert_2": 0, "expert_3": 32}
    # 5 against 4 throughout: neither agreement nor chance is determined beyond that.
    assert report["questions"]["label"]["pair_kappas"]["expert_1 and expert_2"]["value"] == 0.0


def test_mistakes_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"dar build ratings: {tmp_path}/key.json: there is no such file; write the sheets first\n"
    )


@pytest.mark.parametrize(("action", "verb"), [("write", "sheets"), ("read", "ratings")])
def test_help_names_the_command_that_was_typed(
    capsys: pytest.CaptureFixture[str], action: str, verb: str
) -> None:
    with pytest.raises(SystemExit):
        main([action, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: dar build {verb} [-h]")
