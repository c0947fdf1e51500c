"""Frames, sizes and tokens that a budget allows, in literal numbers and against Qwen's own code.

FrameBudget().num_frames(60.0, 1500) == 30, so a temporal grid is 4.0 s long
"""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from affect.video import FrameBudget

DEFAULT = FrameBudget()
SIDES = st.integers(1, 5000)
LIMITS = st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)).map(sorted)


@pytest.mark.parametrize(
    ("duration_seconds", "available", "overrides", "num_frames"),
    [
        (60.0, 1500, {}, 30),  # capped
        (10.0, 250, {}, 20),
        (10.0, 4, {}, 4),  # only so many frames exist
        (5.28, 132, {}, 10),  # 10.56 rounded down
        (15.0, 450, {}, 30),
        (1.5, 45, {}, 4),  # 3 raised to min_frames
        (1.0, 30, {}, 4),
        (0.9, 27, {}, 3),  # 4 would be 4.4 per second
        (0.5, 15, {}, 2),
        (0.3, 18, {}, 1),
        (0.04, 1, {}, 1),
        (5.0, 2, {}, 2),
        (0.3, 3, {"fps": 4.0}, 1),
        (10.0, 300, {"fps": 0.1, "min_frames": 1}, 1),
        (10.0, 300, {"fps": 0.3, "min_frames": 1}, 3),  # .3 is a hair under 3/10 in binary
        (3.0, 90, {"fps": 4.0}, 12),
        (2.1, 63, {"max_frames": 5, "fps": 4.0}, 5),
        (100.0, 2500, {"min_frames": 1, "max_frames": 1}, 1),
    ],
)
def test_num_frames(
    duration_seconds: float, available: int, overrides: dict[str, float], num_frames: int
) -> None:
    assert FrameBudget(**overrides).num_frames(duration_seconds, available) == num_frames


@pytest.mark.parametrize(
    ("duration_seconds", "num_sampled", "second_per_grid"),
    [
        (60.0, 30, 4.0),
        (10.0, 4, 5.0),
        (10.0, 5, 4.0),  # .5 fps
        (10.0, 10, 2.0),
        (10.0, 20, 1.0),
        (10.0, 40, 0.5),
        (1.0, 3, 2 / 3),  # an odd count: before it is padded to 4
    ],
)
def test_second_per_grid_comes_from_the_frames_taken(
    duration_seconds: float, num_sampled: int, second_per_grid: float
) -> None:
    assert DEFAULT.second_per_grid_seconds(duration_seconds, num_sampled) == second_per_grid


@given(
    st.floats(0.01, 4000.0),
    st.integers(1, 10**5),
    st.floats(0.01, 4.0),
    st.integers(1, 40),
    st.integers(0, 1000),
)
@example(5.25, 10**5, 4.0, 1, 1000)
@example(0.7000000000000001, 10**5, 4.0, 4, 0)
def test_each_temporal_grid_has_its_own_id(
    duration_seconds: float, available: int, fps: float, min_frames: int, more_frames: int
) -> None:
    budget = FrameBudget(fps=fps, min_frames=min_frames, max_frames=min_frames + more_frames)
    count = budget.num_frames(duration_seconds, available)
    assert 1 <= count <= min(available, budget.max_frames)
    second_per_grid = budget.second_per_grid_seconds(duration_seconds, count)
    ids = [math.floor(grid * 2 * second_per_grid) for grid in range(budget.num_grids(count))]
    assert len(set(ids)) == len(ids)
    if count > 1:
        assert budget.effective_fps(duration_seconds, count) <= 4.0


@pytest.mark.parametrize(
    ("height", "width", "size"),
    [
        (180, 320, (168, 308)),
        (224, 224, (224, 224)),
        (720, 1280, (336, 588)),
        (2160, 3840, (336, 588)),
        (3840, 2160, (588, 336)),
        (1, 1, (224, 224)),
        (121, 161, (196, 280)),
        (10, 2000, (28, 3192)),
    ],
)
def test_frame_size(height: int, width: int, size: tuple[int, int]) -> None:
    assert DEFAULT.frame_size(height, width) == size


def test_frame_size_of_a_tiny_models_budget() -> None:
    tiny = FrameBudget(min_pixels=3136, max_pixels=3136)
    assert tiny.frame_size(56, 56) == (56, 56)
    assert tiny.frame_size(16, 16) == (56, 56)
    assert tiny.frame_size(1080, 1080) == (56, 56)


@settings(deadline=None)  # the first example imports the processor
@given(SIDES, SIDES, LIMITS)
@example(1, 1, [50_176, 200_704])
@example(2160, 3840, [50_176, 200_704])
@example(14, 42, [3136, 3136])
@example(2, 300, [3136, 200_704])
def test_frame_size_is_that_of_the_processor(height: int, width: int, limits: list[int]) -> None:
    processing = pytest.importorskip("transformers.models.qwen2_vl.image_processing_qwen2_vl")
    budget = FrameBudget(min_pixels=limits[0], max_pixels=limits[1])
    if max(height, width) / min(height, width) > 200:
        with pytest.raises(ValueError, match="aspect ratio"):
            budget.frame_size(height, width)
        with pytest.raises(ValueError, match="aspect ratio"):
            processing.smart_resize(height, width, 28, *limits)
        return
    assert budget.frame_size(height, width) == processing.smart_resize(height, width, 28, *limits)


@settings(deadline=None)
@given(st.integers(28, 5000), st.integers(28, 5000))
@example(2160, 3840)
def test_frame_size_is_that_of_qwen_vl_utils(height: int, width: int) -> None:
    """The two statements of Qwen part only for sides under half a token, which that of
    qwen-vl-utils rounds up first and may then shrink to 0."""
    vision = pytest.importorskip("qwen_vl_utils.vision_process")
    expected = vision.smart_resize(height, width, 28, 50_176, 200_704)
    if 0 not in expected:
        assert DEFAULT.frame_size(height, width) == expected


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_a_sized_frame_is_within_the_limits_and_stays(height: int, width: int) -> None:
    if max(height, width) / min(height, width) > 20:
        return
    size = DEFAULT.frame_size(height, width)
    assert size[0] % 28 == size[1] % 28 == 0
    assert size[0] * size[1] <= DEFAULT.max_pixels
    assert DEFAULT.frame_size(*size)[0] % 28 == 0
    if size[0] * size[1] >= DEFAULT.min_pixels:
        assert DEFAULT.frame_size(*size) == size


def test_extreme_frames_are_refused() -> None:
    with pytest.raises(ValueError, match=r"aspect ratio 201\.0 of 1x201 \(hxw\)"):
        DEFAULT.frame_size(1, 201)
    assert DEFAULT.frame_size(1, 200)[0] == 28
    with pytest.raises(ValueError, match="got 0x5"):
        DEFAULT.frame_size(0, 5)


@pytest.mark.parametrize(
    ("duration_seconds", "available", "height", "width", "tokens"),
    [
        (60.0, 1500, 180, 320, 15 * 6 * 11),
        (5.28, 132, 180, 320, 5 * 6 * 11),
        (60.0, 1500, 720, 1280, 15 * 12 * 21),
        (0.9, 27, 224, 224, 2 * 8 * 8),  # 3 frames, padded to 2 grids
        (0.04, 1, 224, 224, 1 * 8 * 8),
    ],
)
def test_num_video_tokens(
    duration_seconds: float, available: int, height: int, width: int, tokens: int
) -> None:
    assert DEFAULT.num_video_tokens(duration_seconds, available, height, width) == tokens


def test_grid_thw_counts_patches() -> None:
    assert DEFAULT.grid_thw(5.28, 132, 180, 320) == (5, 12, 22)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"fps": 4.5}, "fps (4.5) is above 4"),
        ({"fps": 0.0}, "greater than 0"),
        ({"fps": math.nan}, "greater than 0"),
        ({"min_frames": 31}, "min_frames (31) is above max_frames (30)"),
        ({"min_pixels": 300_000}, "min_pixels (300000) is above max_pixels (200704)"),
        ({"max_frames": 0}, "greater than or equal to 1"),
        ({"frames": 4}, "Extra inputs"),
    ],
)
def test_a_budget_that_cannot_hold_is_refused(overrides: dict[str, float], message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        FrameBudget(**overrides)
    assert message in str(refused.value)


@pytest.mark.parametrize("duration_seconds", [0.0, -1.0, math.nan, math.inf])
def test_durations_that_are_none_are_refused(duration_seconds: float) -> None:
    with pytest.raises(ValueError, match="duration must be finite and above 0 s"):
        DEFAULT.num_frames(duration_seconds, 10)


def test_a_video_without_frames_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 frame, got 0"):
        DEFAULT.num_frames(1.0, 0)


def test_the_record_of_a_budget_reads_back() -> None:
    assert FrameBudget(**FrameBudget(fps=1.5).model_dump()) == FrameBudget(fps=1.5)
    assert DEFAULT.model_dump() == {
        "fps": 2.0,
        "min_frames": 4,
        "max_frames": 30,
        "min_pixels": 50_176,
        "max_pixels": 200_704,
        "patch_size": 14,
        "merge_size": 2,
        "temporal_patch_size": 2,
    }
    with pytest.raises(ValidationError, match="frozen"):
        DEFAULT.fps = 1.0  # type: ignore[misc]
