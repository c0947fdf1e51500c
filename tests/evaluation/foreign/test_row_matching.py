"""Which row is meant by an id, a path or a file's name, and what is refused as ambiguous."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.records import Row, prompt_from_text
from evaluation.foreign.row_matching import Match, RowMatcher


def matcher(**videos: str) -> RowMatcher:
    """Of rows by id."""
    prompt = prompt_from_text("<video>\nDescribe.")
    return RowMatcher([Row(name, video, 8.0, None, prompt, None) for name, video in videos.items()])


ROWS = matcher(
    one="real/bikes.mp4", two="real/pond.v2.mp4", three="drawn/bikes.mp4", four="lake.webm"
)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("one", Match("one", "id")),
        ("real/bikes.mp4", Match("one", "video path")),
        ("./real//bikes.mp4", Match("one", "video path")),
        ("real\\bikes.mp4", Match("one", "video path")),
        ("/elsewhere/TSL/real/bikes.mp4", Match("one", "end of the path")),
        ("D:\\clips\\drawn\\bikes.mp4", Match("three", "end of the path")),
        ("pond.v2", Match("two", "file name")),
        ("pond.v2.mp4", Match("two", "file name")),
        ("frames/pond.v2.avi", Match("two", "file name")),
        ("lake", Match("four", "file name")),
        ("/x/lake.webm", Match("four", "file name")),
        ("pond", None),
        ("lake.v2", None),
        ("Lake", None),
        ("one ", None),
        ("", None),
        ("..", None),
    ],
)
def test_what_is_meant(value: str, found: Match | None) -> None:
    assert ROWS.match(value, "video") == found


@pytest.mark.parametrize("value", ["bikes", "bikes.mp4", "elsewhere/bikes.mp4", "bikes.avi"])
def test_equal_names_in_two_folders_are_refused_by_name(value: str) -> None:
    with pytest.raises(ValueError, match=r"fits 2 rows by file name, among them 'one' and 'three'"):
        ROWS.match(value, "video_id")


def test_two_rows_of_one_video_are_told_apart_by_id_only() -> None:
    rows = matcher(a="x.mp4", b="x.mp4")
    assert rows.match("b", "id") == Match("b", "id")
    with pytest.raises(ValueError, match="'a' and 'b'"):
        rows.match("x.mp4", "video")


def test_the_id_of_one_and_the_video_of_another_is_refused() -> None:
    rows = RowMatcher(
        [
            Row("b.mp4", "a.mp4", 8.0, None, prompt_from_text("<video>"), None),
            Row("a.mp4", "b.mp4", 8.0, None, prompt_from_text("<video>"), None),
        ]
    )
    assert rows.match("a.mp4", "id") == Match("a.mp4", "id")
    with pytest.raises(ValueError, match=r"the id of one row and the video of another, 'b\.mp4'"):
        rows.match("a.mp4", "video")


def test_a_decomposed_name_is_the_composed_one() -> None:
    assert matcher(a="caf\u00e9.mp4").match("cafe\u0301.mp4", "video") == Match("a", "video path")


@given(st.text(max_size=20))
def test_any_text_is_matched_or_not(value: str) -> None:
    try:
        found = ROWS.match(value, "video")
    except ValueError as error:
        assert "bikes" in value and "fits 2 rows" in str(error)
    else:
        assert found is None or found.row_id in {"one", "two", "three", "four"}
