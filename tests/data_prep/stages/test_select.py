"""What is worth the models' time, by literal numbers."""

import asyncio

import pytest

from data_prep.build.config import SelectSection
from data_prep.records import Cut, Looked, Motion, Selected
from data_prep.stages.select import select


def looked(
    duration_seconds: float = 8.0,
    distance: float | None = 10.0,
    flow_pixels: float | None = 1.0,
    still_share: float = 0.0,
    num_cuts: int = 0,
) -> Looked:
    return Looked(
        num_frames=200,
        duration_seconds=duration_seconds,
        width=320,
        height=180,
        codec="h264",
        mime_type="video/mp4",
        perceptual_hash="0" * 256,
        motion=Motion(
            mean_hash_distance=distance, mean_flow_pixels=flow_pixels, still_share=still_share
        ),
        cuts=tuple(Cut(time_seconds=2.0 * (n + 1), kind="cut") for n in range(num_cuts)),
        frame_times_seconds=(0.0,),
        num_decode_passes=1,
    )


def rejection(record: Looked, **settings: float) -> str | None:
    selected = asyncio.run(select.function(record, SelectSection(**settings)))
    assert isinstance(selected, Selected)
    return selected.rejection


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (looked(), None),
        (looked(num_cuts=3), None),
        (looked(duration_seconds=0.999), "too_short"),
        (looked(duration_seconds=1.0), None),
        # Both measures must be low.
        (looked(distance=4.0, flow_pixels=0.1), "static"),
        (looked(distance=4.1, flow_pixels=0.1), None),
        (looked(distance=4.0, flow_pixels=0.11), None),
        # Still nearly throughout: pictures that differ are a slideshow, one picture is static.
        (looked(still_share=0.9, num_cuts=3), "slideshow"),
        (looked(still_share=0.89, num_cuts=3), None),
        (looked(distance=0.0, flow_pixels=0.0, still_share=1.0), "static"),
        (looked(distance=1.0, flow_pixels=0.05, still_share=1.0, num_cuts=1), "slideshow"),
        (looked(distance=10.0, flow_pixels=0.0, still_share=1.0), "slideshow"),
        # A pause in a real clip.
        (looked(still_share=0.6, num_cuts=1), None),
        # One frame, shown for a while.
        (looked(distance=None, flow_pixels=None, still_share=1.0), "static"),
        (looked(0.04, distance=None, flow_pixels=None, still_share=1.0), "too_short"),
    ],
)
def test_rejections(record: Looked, expected: str | None) -> None:
    assert rejection(record) == expected


def test_thresholds_are_settings() -> None:
    assert rejection(looked(), min_duration_seconds=10.0) == "too_short"
    assert rejection(looked(), max_static_hash_distance=10, max_static_flow_pixels=1) == "static"
    assert rejection(looked(still_share=0.5), min_slideshow_still_share=0.5) == "slideshow"
