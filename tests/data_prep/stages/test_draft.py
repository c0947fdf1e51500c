"""Drafts from the picture alone: literal ones, the invariants for any picture, and real clips."""

import asyncio
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import Segment, Timeline
from affect.video import GuardedReader
from data_prep.build.config import DraftSection, PictureSection, SelectSection
from data_prep.clip import Clip, write_pack
from data_prep.draft.measures import Measures, measure_frames
from data_prep.records import (
    MIN_SEGMENT_SECONDS,
    Candidates,
    Cut,
    FinalSegment,
    StageFailure,
    Video,
)
from data_prep.stages.draft import draft, draft_segments
from data_prep.stages.look import look
from data_prep.stages.select import select
from tests.data_prep.draft.plain_frames import plain_frames
from tests.data_prep.stages.clips import looked_at, plain_clip
from tests.paths import SHARED, needs_shared

SETTINGS, PICTURE = DraftSection(), PictureSection()
DARK_BLUE, ORANGE, GREY = (0, 10, 60), (255, 190, 110), (128, 128, 128)


def check_is_timeline(segments: tuple[FinalSegment, ...], duration_seconds: float) -> None:
    """The invariants, as they are and in one decimal."""
    exact = tuple(Segment(s.start_seconds, s.end_seconds, s.emotion, s.reason) for s in segments)
    timeline = Timeline(exact, duration_seconds)
    assert (exact[0].start_seconds, exact[-1].end_seconds) == (0.0, duration_seconds)
    for one, other in pairwise(exact):
        assert one.end_seconds == other.start_seconds and one.emotion != other.emotion
    for written in (exact, timeline.rounded().segments):
        assert all(s.end_seconds - s.start_seconds > MIN_SEGMENT_SECONDS - 1e-6 for s in written)


def test_a_literal_draft() -> None:
    measures = measure_frames(plain_frames([DARK_BLUE] * 12 + [ORANGE] * 8))
    cuts = (Cut(time_seconds=3.0, kind="cut"),)
    first, second = draft_segments(measures, cuts, 5.0, (), SETTINGS)
    assert (first.start_seconds, first.end_seconds, first.emotion) == (0.0, 3.0, "Anxiety")
    assert (second.start_seconds, second.end_seconds, second.emotion) == (3.0, 5.0, "Joy")
    assert first.reason == (
        "A draft from the picture alone that nobody has verified. It begins with the clip. "
        "From 0.0 s to 3.0 s the picture is dark, flat, cold, still: brightness 0.05, contrast "
        '0.00, saturation 0.24, warmth -0.24, motion 0.00. By the rule "dark: Anxiety" the viewer '
        "may feel Anxiety."
    )
    assert "It begins at a cut." in second.reason
    assert '"bright and warm and colourful: Joy"' in second.reason


def test_equal_neighbours_become_one_and_are_measured_again() -> None:
    measures = measure_frames(plain_frames([DARK_BLUE] * 8 + [(0, 20, 40)] * 8))
    (whole,) = draft_segments(measures, (Cut(time_seconds=2.0, kind="fade"),), 4.0, (), SETTINGS)
    assert (whole.start_seconds, whole.end_seconds, whole.emotion) == (0.0, 4.0, "Anxiety")
    assert "From 0.0 s to 4.0 s" in whole.reason


def test_labels_limit_the_choice_and_the_reason_says_so() -> None:
    measures = measure_frames(plain_frames([GREY] * 16))
    (whole,) = draft_segments(measures, (), 4.0, ("Romance", "Craving", "Joy"), SETTINGS)
    assert whole.emotion == "Romance"
    assert "No rule names a labelled emotion; the strongest label, Romance, stays." in whole.reason


def test_the_stage_marks_its_record_as_a_draft(tmp_path: Path) -> None:
    clip = plain_clip(tmp_path, 4.0)
    record = asyncio.run(draft.function(looked_at(4.0), clip, Candidates(), SETTINGS, PICTURE))
    assert (record.provenance, record.rejection, record.rounds) == ("draft", None, ())
    check_is_timeline(record.segments, 4.0)
    assert all("nobody has verified" in one.reason for one in record.segments)
    assert draft.roles == () and draft.prompts == ()


def test_a_clip_shorter_than_any_segment_is_rejected(tmp_path: Path) -> None:
    clip = plain_clip(tmp_path, 0.3)
    record = asyncio.run(draft.function(looked_at(0.3), clip, Candidates(), SETTINGS, PICTURE))
    assert (record.rejection, record.segments) == ("too_short", ())


def test_lost_frames_are_a_failure(tmp_path: Path) -> None:
    clip = Clip(tmp_path / "a.mp4", "ab" * 32, "video/mp4", tmp_path / "gone.zip")
    with pytest.raises(StageFailure, match="frames_lost"):
        asyncio.run(draft.function(looked_at(4.0), clip, Candidates(), SETTINGS, PICTURE))
    write_pack(clip.pack, [])
    clip.pack.write_bytes(b"PK")
    with pytest.raises(StageFailure, match="frames_lost"):
        asyncio.run(draft.function(looked_at(4.0), clip, Candidates(), SETTINGS, PICTURE))


@st.composite
def measured(draw: st.DrawFn) -> tuple[Measures, float]:
    """Any measures that frames could have, and a duration."""
    duration = draw(st.floats(0.4, 40.0))
    num_frames = draw(st.integers(1, 40))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = generator.choice([0.0, 0.1, 0.5, 0.9, 1.0], size=(num_frames, 3))
    return (
        Measures(
            times_seconds=np.sort(generator.uniform(0, duration, num_frames)),
            colors=levels,
            contrasts=generator.uniform(0, 0.5, num_frames),
            saturations=levels.max(axis=1) - levels.min(axis=1),
            motions=generator.choice([0.0, 0.03, 0.3], size=num_frames - 1),
        ),
        duration,
    )


@given(
    measured(),
    st.lists(st.floats(0, 40), max_size=30),
    st.lists(st.sampled_from(DAR_EMOTIONS), max_size=3, unique=True),
    st.floats(0.5, 3.0),
    st.integers(1, 40),
)
def test_every_draft_is_a_timeline(
    measures_and_duration: tuple[Measures, float],
    times: list[float],
    allowed: list[str],
    min_segment_seconds: float,
    max_segments: int,
) -> None:
    measures, duration = measures_and_duration
    settings = DraftSection(min_segment_seconds=min_segment_seconds, max_segments=max_segments)
    cuts = [Cut(time_seconds=time, kind="cut") for time in times]
    segments = draft_segments(measures, cuts, duration, allowed, settings)
    check_is_timeline(segments, duration)
    assert len(segments) <= max_segments
    assert not allowed or {one.emotion for one in segments} <= set(allowed)
    assert segments == draft_segments(measures, cuts, duration, allowed, settings)


@needs_shared
@pytest.mark.slow
def test_every_selected_clip_gets_a_timeline(tmp_path: Path) -> None:
    num_drafts = 0
    with GuardedReader(120.0) as reader:
        for path in sorted((SHARED / "videos").glob("*/*")):
            video = Video(id=path.name, sha256="ab" * 32)
            clip = Clip(path, video.sha256, "", tmp_path / f"{path.name}.zip")
            try:
                looked = asyncio.run(look.function(video, clip, PICTURE, reader))
            except StageFailure:
                continue
            if asyncio.run(select.function(looked, SelectSection())).rejection is None:
                record = asyncio.run(draft.function(looked, clip, Candidates(), SETTINGS, PICTURE))
                check_is_timeline(record.segments, looked.duration_seconds)
                num_drafts += 1
    assert num_drafts >= 20
