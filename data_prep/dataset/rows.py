"""A finished video as a row: the rounded timeline, the project's prompt, and where it comes from.

    row = row_of(finished)
    row.id, row.timeline.segments[0].end_seconds, row.extra
    -> "clips/0001.mp4", 4.2, {"sha256": "9f86d0...", "provenance": "verified",
                               "genre": "Animals", "scene": "outdoor"}

`genre` and `scene` are absent where nobody tagged the video. Records hold exact times; rows hold
one decimal, as models are trained to write them.
"""

from typing import Any

from affect.prompts import segment_prompt_text
from affect.records import Row, prompt_from_text
from affect.timeline import Segment, Timeline
from data_prep.dataset.finished import FinishedVideo
from data_prep.records import GENRES, MIN_SEGMENT_SECONDS, SCENES
from data_prep.rendered.plan import clip_id, named_clip

_FLOAT_NOISE_SECONDS = 1e-6


def row_of(finished: FinishedVideo) -> Row:
    """The row of one video; its path is relative to the videos' root.

    A record that was accepted and is no timeline is a fault of ours: AssertionError, no repair.
    """
    video = finished.video
    duration_seconds = finished.looked.duration_seconds
    try:
        exact = Timeline(
            tuple(
                Segment(one.start_seconds, one.end_seconds, one.emotion, one.reason)
                for one in finished.decided.segments
            ),
            duration_seconds,
        )
        row = Row(
            id=_id(finished),
            video=video.id,
            duration_seconds=duration_seconds,
            source=finished.source,
            prompt=prompt_from_text(segment_prompt_text(duration_seconds)),
            # As the prompt rounds the duration and the stages measured lengths.
            timeline=exact.rounded(),
            extra=_extra(finished),
        )
    except ValueError as error:
        raise AssertionError(f"{video.id}: what was decided is no row: {error}") from error
    assert row.video == video.id, f"{video.id!r} is not the path that its row names, {row.video!r}"
    assert row.timeline is not None, video.id
    for segments in (exact.segments, row.timeline.segments):
        for index, segment in enumerate(segments):
            seconds = segment.end_seconds - segment.start_seconds
            assert seconds >= MIN_SEGMENT_SECONDS - _FLOAT_NOISE_SECONDS, (
                f"{video.id}: segments[{index}] lasts {seconds:.3f} s, less than "
                f"{MIN_SEGMENT_SECONDS} s"
            )
    return row


def _id(finished: FinishedVideo) -> str:
    """The video's; a drawn clip keeps the name that its world gave it (`train/00012`), because
    sampling is seeded by a row's id and should not depend on which command wrote the row."""
    drawn = None
    if finished.decided.provenance == "rendered":
        drawn = named_clip(finished.video.id)
    return finished.video.id if drawn is None else clip_id(*drawn)


def _extra(finished: FinishedVideo) -> dict[str, Any]:
    extra = {"sha256": finished.video.sha256, "provenance": finished.decided.provenance}
    tagged = finished.tagged
    if tagged is not None:
        assert tagged.genre in GENRES and tagged.scene in SCENES, (finished.video.id, tagged)
        extra |= {"genre": tagged.genre, "scene": tagged.scene}
    return extra
