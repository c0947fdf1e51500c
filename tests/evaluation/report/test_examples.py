"""The page's data: literal arrays, one text each, and runs that can't share a page."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.report.clip_video import find_clips
from evaluation.report.examples import MAX_TEXT_CHARACTERS, Numbering, examples_of
from evaluation.runs import load_runs, parse_labels
from tests.evaluation.report.page_runs import (
    judgement,
    timeline_text,
    write_judgements,
    write_run,
    write_tagged_rows,
)

TRUTHS: dict[str, Any] = {
    "a": [[0, 4, "Joy", "They dance."], [4, 8, "Fear", "It grows dark."]],
    "b": [[0, 8, "Calmness", "Nothing moves."]],
    "c": [[0, 8, "Joy", "They dance."]],
}


def document(runs: list[Path], tmp_path: Path) -> dict[str, Any]:
    loaded = load_runs(runs, "test", labels={})
    page = tmp_path / "report.html"
    value = examples_of(loaded, find_clips(loaded[0].truths, loaded[0].video_root, page), {})
    return json.loads(json.dumps(value, allow_nan=False))


def test_one_run(tmp_path: Path) -> None:
    rows = write_tagged_rows(tmp_path, TRUTHS, tags={"b": {"genre": "Animals", "source": "vce"}})
    fenced = f"Sure!\n{timeline_text([[0, 8, 'Awe', 'They dance.']])}"
    replies = {
        "a": timeline_text([[0, 3, "Joy", "They dance."], [3, 8, "Anger", "A shout."]]),
        "b": fenced,
        "c": None,
    }
    run = write_run(tmp_path / "runs" / "sft", rows, replies)
    write_judgements(run, [judgement("a", 0, 4.0, comment="Seen."), judgement("a", 1, None)])
    value = document([run], tmp_path)
    assert value["runs"] == ["sft"] and value["judges"] == ["judge_paper.gpt-4o"]
    assert value["dimensions"] == ["VG", "CL", "VC", "TC", "AC"]
    assert value["labels"] == ["Joy", "Fear", "Anger", "Calmness", "Awe (or Wonder)"]
    assert value["tags"] == ["Animals", "vce"]
    missing = {id: f"There is no file videos/{id}.mp4 in the video folder." for id in "abc"}
    texts = value["texts"]
    place = texts.index
    assert value["clips"][0] == [
        "a", "", place(missing["a"]), 8.0, -1, -1, -1,
        [[0.0, 4.0, 0, place("They dance.")], [4.0, 8.0, 1, place("It grows dark.")]],
        [[
            # wrong_label is the second kind; tIoU 3/4 and 4/5, the first of two places right.
            2, 0.775, 0.5,
            [[0.0, 3.0, 0, place("They dance.")], [3.0, 8.0, 2, place("A shout.")]],
            [[0, 0, 0.75], [1, 1, 0.8]],
            {"judged": [[0, 0, "judged", [4.0] * 5, 4.0, place("Seen."), -1],
                        [0, 1, "unscored", None, None, -1, -1]]},
        ]],
    ]  # fmt: skip
    (unparsed,) = value["clips"][1][8]
    assert value["clips"][1][4:7] == [0, -1, 1]
    assert unparsed[:3] == [1 << 5, None, None] and unparsed[4] == []
    assert unparsed[3] == [[0.0, 8.0, 4, place("They dance.")]], "what can be read is shown"
    assert unparsed[5]["reply"] == place(fenced)
    assert unparsed[5]["reply_characters"] == len(fenced)
    assert [texts[at].split(":")[0] for at in unparsed[5]["faults"]] == ["surrounding_text"]
    assert value["clips"][2][8] == [[1 << 6, None, None, [], [], {"error": place("no picture")}]]
    assert len(set(texts)) == len(texts), "each text stands once"


def test_a_row_that_was_never_asked_is_missing_without_an_error(tmp_path: Path) -> None:
    rows = write_tagged_rows(tmp_path, TRUTHS)
    run = write_run(tmp_path / "run", rows, {"a": "?"})
    value = document([run], tmp_path)
    assert value["clips"][1][8] == [[1 << 6, None, None, [], [], {}]]


def test_rounding_makes_no_boundary_good(tmp_path: Path) -> None:
    rows = write_tagged_rows(tmp_path, {"a": TRUTHS["a"]})
    near = timeline_text([[0, 1.9985, "Joy", "They dance."], [1.9985, 8, "Fear", "It grows."]])
    run = write_run(tmp_path / "run", rows, {"a": near})
    (answer,) = document([run], tmp_path)["clips"][0][8]
    # 1.9985 / 4 = .499625, which would be .5; 4 / 6.0015 = .66650.
    assert answer[0] == 1 << 2 and answer[4] == [[0, 0, 0.499], [1, 1, 0.667]]


def test_texts_are_printable_and_bounded() -> None:
    texts = Numbering()
    assert [texts.place(one) for one in (None, "", "  ", "a", "b", "a")] == [-1, -1, -1, 0, 1, 0]
    assert texts.place("x\x00\u202e\ud800") == 2
    assert texts.values[2] == "x\\u0000\\u202e\\ud800"
    long = "y" * 1_000_000
    place = texts.place(long)
    assert texts.values[place] == (
        long[:MAX_TEXT_CHARACTERS] + "\n… cut here: 1,000,000 characters in all"
    )


def test_runs_on_different_rows_are_refused(tmp_path: Path) -> None:
    rows = write_tagged_rows(tmp_path / "one", TRUTHS)
    first = write_run(tmp_path / "first", rows, {"a": "?"})

    def load(changed: dict[str, Any], **more: Any) -> None:
        other_rows = write_tagged_rows(tmp_path / "two", changed, **more)
        load_runs([first, write_run(tmp_path / "second", other_rows, {})], "test", labels={})

    load(TRUTHS)
    load(TRUTHS, tags={"a": {"genre": "Animals"}})
    with pytest.raises(ValueError, match=r"different rows: .* has 3, .* has 2"):
        load({key: TRUTHS[key] for key in "ab"})
    with pytest.raises(ValueError, match=r"row 2 is 'b' in .*, 'c' in .*two"):
        load({key: TRUTHS[key] for key in "acb"})
    with pytest.raises(ValueError, match=r"row 'b' has another annotation in .*two"):
        load({**TRUTHS, "b": [[0, 8, "Joy", "Nothing moves."]]})
    with pytest.raises(ValueError, match=r"row 'a' has another clip in .*two"):
        load(TRUTHS, videos={"a": "b.mp4"})


def test_labels(tmp_path: Path) -> None:
    sft, odd = Path("runs/sft"), Path("runs/a=b")
    assert parse_labels(["SFT=runs/sft", "x=runs/a=b"], [sft, odd]) == {sft: "SFT", odd: "x"}
    for wrong in ("SFT", "=runs/sft", "SFT=runs/other"):
        with pytest.raises(ValueError, match=r"write LABEL=RUN, with one of the runs: runs/sft"):
            parse_labels([wrong], [sft])
    rows = write_tagged_rows(tmp_path, TRUTHS)
    runs = [write_run(tmp_path / one / "runs" / "sft", rows, {}) for one in ("x", "y")]
    with pytest.raises(ValueError, match="2 runs are called 'sft'; tell them apart by --label"):
        load_runs(runs, "test", labels={})
    labels = {runs[1]: "other"}
    assert [one.label for one in load_runs(runs, "test", labels=labels)] == ["sft", "other"]
