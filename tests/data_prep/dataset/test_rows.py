"""Rows of finished videos: one decimal, no segment below .4 s, nothing wrong gets through."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.prompts import segment_prompt_text
from affect.records import prompt_from_text, read_rows, write_sft_rows
from data_prep.dataset.rows import row_of
from data_prep.stages.lengths import is_long_enough
from tests.data_prep.dataset.made_videos import finished

TWO = [(0.0, 4.23, "Joy"), (4.23, 9.52, "Fear")]


def test_a_row_says_where_it_comes_from():
    row = row_of(finished("clips/a.mp4", 9.52, TWO, genre="Animals", scene="indoor"))
    assert (row.id, row.video, row.source, row.duration_seconds) == (
        "clips/a.mp4",
        "clips/a.mp4",
        "vce",
        9.52,
    )
    assert row.prompt == prompt_from_text(segment_prompt_text(9.52))
    assert [(one.start_seconds, one.end_seconds) for one in row.timeline.segments] == [
        (0.0, 4.2),
        (4.2, 9.5),
    ]
    assert row.extra["provenance"] == "verified" and len(row.extra["sha256"]) == 64
    assert (row.extra["genre"], row.extra["scene"]) == ("Animals", "indoor")


def test_drafts_are_marked_and_untagged_rows_have_no_genre():
    row = row_of(finished("a.mp4", 9.52, TWO, provenance="draft"))
    assert row.extra["provenance"] == "draft"
    assert set(row.extra) == {"sha256", "provenance"}


def test_the_last_segment_ends_where_the_prompt_says_that_the_clip_does():
    """5.25 lies halfway between two decimals: prompt, target and stages round it alike."""
    row = row_of(finished("a.mp4", 5.25, [(0.0, 4.85, "Joy"), (4.85, 5.25, "Fear")]))
    assert "silent video of 5.2 seconds" in segment_prompt_text(5.25)
    assert [(one.start_seconds, one.end_seconds) for one in row.timeline.segments] == [
        (0.0, 4.8),  # 4.85 is a little less in binary
        (4.8, 5.2),
    ]


@pytest.mark.parametrize(
    ("spans", "fault"),
    [
        ([(0.0, 4.0, "Joy"), (4.0, 9.0, "Joy")], "repeated_emotion"),
        ([(0.0, 4.0, "Joy"), (4.2, 9.0, "Fear")], "gap"),
        ([(0.0, 4.0, "Joy")], "end"),
        ([(0.0, 9.0, "Awe")], "emotion"),
        ([(0.0, 9.0, "Joy", "...")], "blank_reason"),
        ([(0.0, 8.7, "Joy"), (8.7, 9.0, "Fear")], r"a\.mp4: segments\[1\] lasts 0\.300 s"),
        ([], "empty"),
    ],
)
def test_a_decided_record_that_is_no_timeline_is_our_fault(spans, fault):
    with pytest.raises(AssertionError, match=fault):
        row_of(finished("a.mp4", 9.0, spans))


def test_an_id_that_is_no_path_of_a_row_is_our_fault():
    for name in ("../a.mp4", "./a.mp4", "/a.mp4"):
        with pytest.raises(AssertionError):
            row_of(finished(name, 9.52, TWO))


lengths = st.lists(st.integers(40, 900), min_size=1, max_size=12)


@given(lengths=lengths)
def test_no_exported_segment_is_below_the_shortest_and_rows_read_back(tmp_path_factory, lengths):
    """On hundredths: every way of lying between two decimals that the stages let pass."""
    ends = [0.0]
    for length in lengths:
        end = round(ends[-1] + length / 100, 2)
        while not is_long_enough(ends[-1], end):
            end = round(end + 0.01, 2)
        ends.append(end)
    spans = [
        (start, end, ("Joy", "Fear")[number % 2])
        for number, (start, end) in enumerate(pairwise(ends))
    ]
    row = row_of(finished("a.mp4", ends[-1], spans))
    for one in row.timeline.segments:
        assert round(one.end_seconds - one.start_seconds, 6) >= 0.4
    assert f"silent video of {row.timeline.segments[-1].end_seconds:.1f} s" in str(row.prompt)
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_sft_rows(path, [row])
    assert read_rows(path, tolerance_seconds=0.05) == [row]
