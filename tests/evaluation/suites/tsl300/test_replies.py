"""From replies, and from files in TSL-300's own form, to what enters the protocol."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import Segment
from evaluation.predictions import read_predictions
from evaluation.suites.tsl300.candidates import Candidate, is_tsl_file, read_tsl_file
from evaluation.suites.tsl300.polarity import open_policy, polarities
from evaluation.suites.tsl300.replies import candidates_of, candidates_of_predictions
from tests.evaluation.files import reply, sft_row, write_lines, write_predictions

SIDES = polarities(open_policy())


def segments(*spans: tuple[float, float, str]) -> list[Segment]:
    return [Segment(start, end, emotion, "why") for start, end, emotion in spans]


def spans(found: list[Candidate]) -> list[tuple[str, float, float]]:
    return [(c.polarity, c.start_seconds, c.end_seconds) for c in found]


TIMELINE = segments(
    (0, 4, "Joy"), (4, 9, "Amusement"), (9, 12, "Interest"), (12, 15, "Joy"), (15, 20, "Fear")
)


def test_neighbours_of_one_polarity_are_joined_and_open_ones_left_out() -> None:
    assert spans(candidates_of(TIMELINE, SIDES, merge=True)) == [
        ("positive", 0, 9), ("positive", 12, 15), ("negative", 15, 20),
    ]  # fmt: skip
    assert spans(candidates_of(TIMELINE, SIDES, merge=False)) == [
        ("positive", 0, 4), ("positive", 4, 9), ("positive", 12, 15), ("negative", 15, 20),
    ]  # fmt: skip
    assert {c.score for c in candidates_of(TIMELINE, SIDES, merge=True)} == {1.0}


def test_open_ones_as_both_join_either_side() -> None:
    both = polarities(open_policy("both"))
    assert spans(candidates_of(TIMELINE, both, merge=True)) == [
        ("positive", 0, 15), ("negative", 9, 12), ("negative", 15, 20),
    ]  # fmt: skip


def test_only_stretches_that_meet_are_joined() -> None:
    loose = segments((0, 4, "Joy"), (4.04, 8, "Relief"), (9, 12, "Joy"), (10, 14, "Joy"))
    assert spans(candidates_of(loose, SIDES, merge=True)) == [
        ("positive", 0, 8), ("positive", 9, 12), ("positive", 10, 14),
    ]  # fmt: skip
    reversed_one = segments((5, 2, "Joy"), (2, 6, "Joy"))
    assert len(candidates_of(reversed_one, SIDES, merge=True)) == 2


@given(st.lists(st.sampled_from([*DAR_EMOTIONS, "Happy"]), min_size=1, max_size=12), st.booleans())
def test_joining_keeps_what_is_covered(emotions: list[str], merge: bool) -> None:
    timeline = segments(*((float(i), i + 1.0, emotion) for i, emotion in enumerate(emotions)))
    for policy in ("background", "both"):
        sides = polarities(open_policy(policy))
        found = candidates_of(timeline, sides, merge=merge)
        for polarity in ("positive", "negative"):
            covered = {
                second
                for c in found
                if c.polarity == polarity
                for second in range(int(c.start_seconds), int(c.end_seconds))
            }
            assert covered == {
                i for i, emotion in enumerate(emotions) if polarity in sides.get(emotion, ())
            }


def files(tmp_path: Path) -> tuple[Path, Path]:
    rows = write_lines(
        tmp_path / "rows.jsonl", [sft_row(name, None, 20.0) for name in ("a", "b", "c", "d")]
    )
    whole = reply([[0, 8, "Joy"], [8, 20, "Confusion"]])
    fenced = "```json\n" + reply([[0, 8, "Happy"], [8, 20, "Fear"]]) + "\n```"
    replies = {"a": whole, "b": fenced, "c": "I see nothing.", "d": None}
    return rows, write_predictions(tmp_path / "predictions.jsonl", replies)


def test_strict_and_lenient_reading(tmp_path: Path) -> None:
    rows, path = files(tmp_path)
    strict = candidates_of_predictions(read_predictions(path), rows, SIDES)
    assert {name: spans(list(cs)) for name, cs in strict.candidates.items()} == {
        "a": [("positive", 0, 8)]
    }
    assert strict.unparsed == {"b", "c"}
    assert (strict.num_background, strict.num_unknown_emotion) == (1, 0)
    lenient = candidates_of_predictions(read_predictions(path), rows, SIDES, reading="lenient")
    assert spans(list(lenient.candidates["b"])) == [("negative", 8, 20)]
    assert lenient.unparsed == {"c"} and "d" not in lenient.candidates
    assert (lenient.num_background, lenient.num_unknown_emotion) == (1, 1)


def test_replies_without_their_row(tmp_path: Path) -> None:
    rows, _ = files(tmp_path)
    path = write_predictions(tmp_path / "other.jsonl", {"a": "x", "z": "x"})
    with pytest.raises(ValueError, match=r"other\.jsonl:3: id 'z' is not in .*rows\.jsonl"):
        candidates_of_predictions(read_predictions(path), rows, SIDES)
    header = {"header": {"model": "m", "rows_sha256": "0" * 64}}
    path = write_lines(tmp_path / "stale.jsonl", [header, {"id": "a", "text": "x"}])
    with pytest.raises(ValueError, match="its content differs"):
        candidates_of_predictions(read_predictions(path), rows, SIDES)


def tsl_file(tmp_path: Path, results: Any) -> Path:
    path = tmp_path / "detections.json"
    path.write_text(json.dumps({"version": "V", "external_data": {}, "results": results}))
    return path


def test_a_file_in_its_own_form(tmp_path: Path) -> None:
    path = tsl_file(tmp_path, {"a": [{"label": "n", "score": 0.5, "segment": [1, 2.5]}], "b": []})
    assert is_tsl_file(path)
    found = read_tsl_file(path)
    assert found.candidates == {"a": [Candidate("negative", 1.0, 2.5, 0.5)], "b": []}
    rows, predictions = files(tmp_path)
    assert not is_tsl_file(predictions) and not is_tsl_file(rows)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([], "results: an object"),
        ({"a": {}}, "a: a list is needed"),
        ({"a": [{"label": "x", "score": 1, "segment": [0, 1]}]}, r"a\[0\]: label: p or n"),
        ({"a": [{"label": "p", "segment": [0, 1]}]}, r"a\[0\]: an object with"),
        ({"a": [{"label": "p", "score": "1", "segment": [0, 1]}]}, "score: a number"),
        ({"a": [{"label": "p", "score": True, "segment": [0, 1]}]}, "score: a number"),
        ({"a": [{"label": "p", "score": 1, "segment": [0, "1"]}]}, "segment: a number"),
        ({"a": [{"label": "p", "score": 1, "segment": [0]}]}, "a start and an end"),
        ({"a": [{"label": "p", "score": float("nan"), "segment": [0, 1]}]}, "a finite number"),
        ({"a": [{"label": "p", "score": 1, "segment": [0, 10**400]}]}, "a finite number"),
    ],
)
def test_wrong_files_of_its_own_form(tmp_path: Path, results: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_tsl_file(tsl_file(tmp_path, results))
