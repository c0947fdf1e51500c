"""The quirks of the released script, each with the value that it was seen to give."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import Segment, Timeline
from evaluation.metrics import make_clip
from evaluation.metrics.released import (
    LABELS_IN_SCRIPT_ORDER,
    hull_iou,
    merge_equal_neighbours,
    read_object,
    repair_label,
    repair_segments,
    score_clip,
)

TRUTH = Timeline(
    (Segment(0.0, 4.0, "Joy", "They dance."), Segment(4.0, 8.0, "Fear", "It growls.")), 8.0
)


def segment(start: Any, end: Any, emotion: Any = "Joy", **more: Any) -> dict[str, Any]:
    return {"start_time": start, "end_time": end, "emotion": emotion, **more}


def spans(segments: list[dict[str, Any]]) -> list[tuple[Any, Any, str]]:
    return [(part["start_time"], part["end_time"], part["emotion"]) for part in segments]


def test_labels_are_the_27() -> None:
    assert len(LABELS_IN_SCRIPT_ORDER) == 27
    assert set(LABELS_IN_SCRIPT_ORDER) == set(DAR_EMOTIONS)


@pytest.mark.parametrize(
    ("written", "scored"),
    [
        ("Joy", "Joy"),
        ("", "Awkwardness"),
        ("or", "Boredom"),
        ("Happy", "Interest"),
        ("Painful", "Interest"),
        ("Anger/Fear", "Fear"),
        ("Disinterest", "Interest"),
        ("Enjoyment", "Joy"),
        ("Awe", "Awe (or Wonder)"),
        ("joy", "Joy"),
        ("pain", "Empathic Pain"),
    ],
)
def test_label_repair(written: str, scored: str) -> None:
    assert repair_label(written) == scored


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"segments": []}', {"segments": []}),
        ('Here: {"a": 1} as asked', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```json {"a": 1}```', {"a": 1}),
        ('{"a": 1} and {"b": 2}', None),
        ('{"a": 1,}', None),
        ("}{", None),
        ("no object", None),
        ("", None),
        ("{" * 100_000 + "}" * 100_000, None),
    ],
)
def test_read_object(text: str, value: Any) -> None:
    assert read_object(text) == value


def test_gaps_and_overlaps_go_by_ignoring_starts() -> None:
    repaired = repair_segments([segment(1, 4), segment(5, 8, "Fear")], 8.0)
    assert spans(repaired) == [(0.0, 4, "Joy"), (4, 8, "Fear")]


def test_last_end_becomes_the_duration_when_more_than_half_a_second_off() -> None:
    assert spans(repair_segments([segment(0, 4)], 9.0)) == [(0, 9.0, "Joy")]
    assert spans(repair_segments([segment(0, 8.5)], 9.0)) == [(0, 8.5, "Joy")]


def test_segments_are_sorted_by_start() -> None:
    repaired = repair_segments([segment(4, 8, "Fear"), segment(0, 4)], 8.0)
    assert spans(repaired) == [(0, 4, "Joy"), (4, 8, "Fear")]


def test_an_end_may_come_before_its_start() -> None:
    repaired = repair_segments([segment(0, 9), segment(1, 5, "Fear")], 5.0)
    assert spans(repaired) == [(0, 9, "Joy"), (9, 5, "Fear")]


def test_equal_neighbours_merge_and_join_their_reasons() -> None:
    merged = merge_equal_neighbours(
        [segment(0, 2, reason="A."), segment(2, 4, reason="B."), segment(4, 8, "Fear", reason="C.")]
    )
    assert spans(merged) == [(0, 4, "Joy"), (4, 8, "Fear")]
    assert [part["reason"] for part in merged] == ["A. B.", "C."]


def test_repair_leaves_the_reply_alone() -> None:
    segments = [segment(1, 4), segment(5, 7, "Enjoyment")]
    before = json.dumps(segments)
    repair_segments(segments, 8.0)
    assert json.dumps(segments) == before


@pytest.mark.parametrize(
    ("given", "wanted", "tiou"),
    [
        ((0, 4), (0, 4), 1.0),
        ((0, 1), (0, 4), 0.25),
        ((0, 2), (2, 4), 0.0),
        ((0, 1), (3, 4), 0.0),
        ((9, 5), (4, 9), 0.0),
        ((math.nan, 4), (0, 4), 0.0),
        ((0, math.nan), (0, 4), 0.0),
        ((0, math.inf), (0, 4), 0.0),
    ],
)
def test_hull_iou(given: Any, wanted: Any, tiou: float) -> None:
    truth = Segment(float(wanted[0]), float(wanted[1]), "Joy", "They dance.")
    assert hull_iou(segment(*given), truth) == tiou


@pytest.mark.parametrize(
    "segments",
    [
        pytest.param([segment(0, 8, None)], id="label null"),
        pytest.param([segment(0, 8, 3)], id="label a number"),
        pytest.param([segment(0, "8")], id="last end in quotes"),
        pytest.param([segment(0, None)], id="last end null"),
        pytest.param([segment("0", 4), segment(4, 8, "Fear")], id="starts of two types"),
        pytest.param([segment(0, "4"), segment(4, 8, "Fear")], id="comparison dies"),
        pytest.param([{"end_time": 8, "emotion": "Joy"}], id="no start"),
        pytest.param(["Joy"], id="segment a string"),
        pytest.param({"start_time": 0}, id="segments an object"),
        pytest.param("all", id="segments a string"),
        pytest.param(7, id="segments a number"),
        pytest.param([segment(0, 10**400)], id="end beyond any float"),
        pytest.param([], id="empty"),
        pytest.param(None, id="null"),
    ],
)
def test_what_stops_the_script_is_left_out(segments: Any) -> None:
    score = score_clip(make_clip("a", TRUTH, json.dumps({"segments": segments})))
    assert (score.status, score.counted, score.pairs) == ("unparsed", False, ())


def test_a_start_in_quotes_passes_where_it_is_alone() -> None:
    score = score_clip(make_clip("a", TRUTH, json.dumps({"segments": [segment("0.0", 8)]})))
    assert [(pair.tiou, pair.same_emotion) for pair in score.pairs] == [(0.5, True)]


def test_labels_count_without_any_overlap() -> None:
    reply = json.dumps({"segments": [segment(0, 0, "Interest"), segment(0, 8, "Fear")]})
    score = score_clip(make_clip("a", TRUTH, reply))
    assert [(pair.tiou, pair.same_emotion) for pair in score.pairs] == [(0.0, False), (0.5, True)]


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["segments", "start_time", "end_time", "emotion", "reason"]), inner
        )
    ),
    max_leaves=20,
)


@given(json_values)
def test_no_json_breaks_it_and_tiou_stays_in_range(value: Any) -> None:
    score = score_clip(make_clip("a", TRUTH, json.dumps({"segments": value})))
    assert all(0.0 <= pair.tiou <= 1.0 for pair in score.pairs)
    assert score.counted == (score.status == "scored")


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    assert score_clip(make_clip("a", TRUTH, text)).status in {"scored", "unparsed"}
