"""Very short clips and odd sizes, from a file on disk to the encoded prompt and through a model.

A clip of 3 frames in 3 s becomes 4 frames (the last one twice), 2 temporal grids, 3 times.
"""

from fractions import Fraction
from pathlib import Path

import pytest
import torch

from affect.model.inputs import (
    PromptInputs,
    count_answer_tokens,
    count_prompt_tokens,
    encode_prompt,
    segment_messages,
)
from affect.video import FrameBudget, SampledVideo, VideoError, probe_video, sample_video
from tests.affect.video.clips import shown_frames, write_clip
from tests.tiny import batch_inputs, shared_processor, tiny_policy

SMALL = FrameBudget(fps=1.0, min_frames=1, max_frames=32, min_pixels=3136, max_pixels=3136)
MESSAGES = [{"role": "user", "content": [{"type": "video"}, {"type": "text", "text": "Describe."}]}]


def encode(clip: SampledVideo) -> PromptInputs:
    return encode_prompt(shared_processor(), MESSAGES, [clip])


def check_model_reads(prompt: PromptInputs) -> None:
    model, _ = tiny_policy()
    with torch.no_grad():
        logits = model(**batch_inputs([prompt])).logits
    assert logits.shape[:2] == (1, prompt.num_tokens)
    assert torch.isfinite(logits).all()


def num_pads(prompt: PromptInputs) -> int:
    token = shared_processor().tokenizer.convert_tokens_to_ids("<|video_pad|>")
    return int((prompt.input_ids == token).sum())


@pytest.mark.parametrize(
    ("num_frames", "shown", "num_grids"),
    [
        (1, [0, 0], 1),
        (2, [0, 1], 1),
        (3, [0, 1, 2, 2], 2),
        (31, [*range(31), 30], 16),
    ],
)
def test_frames_one_a_second(
    tmp_path: Path, num_frames: int, shown: list[int], num_grids: int
) -> None:
    path = write_clip(tmp_path / "a.mp4", num_frames, size=(56, 56), time_base=Fraction(1))
    clip = sample_video(path, SMALL)
    assert shown_frames(clip.frames) == shown
    assert clip.num_sampled_frames == num_frames
    assert clip.times_seconds == tuple(float(second) for second in range(num_frames))
    assert clip.duration_seconds == float(num_frames)
    prompt = encode(clip)
    assert prompt.video_grid_thw.tolist() == [[num_grids, 4, 4]]
    assert prompt.pixel_values_videos is not None
    assert prompt.pixel_values_videos.shape == (16 * num_grids, 3 * 2 * 14 * 14)
    assert torch.isfinite(prompt.pixel_values_videos).all()
    assert num_pads(prompt) == 4 * num_grids
    assert prompt.second_per_grid_ts == (2.0,)
    check_model_reads(prompt)


@pytest.mark.parametrize(
    ("num_frames", "shown", "second_per_grid"),
    # At 25 frames a second two temporal grids must not share one position: 4 frames a second.
    [(1, [0, 0], 0.08), (2, [0, 0], 0.16), (3, [0, 0], 0.24), (31, [0, 10, 20, 30], 0.62)],
)
def test_frames_at_full_rate_under_the_default_budget(
    tmp_path: Path, num_frames: int, shown: list[int], second_per_grid: float
) -> None:
    clip = sample_video(write_clip(tmp_path / "a.mp4", num_frames), FrameBudget())
    assert shown_frames(clip.frames) == shown
    prompt = encode(clip)
    assert prompt.second_per_grid_ts == pytest.approx((second_per_grid,))
    # 64x48 is scaled up to 50,176 pixels: 7 x 10 tokens a grid.
    assert prompt.video_grid_thw.tolist() == [[len(shown) // 2, 14, 20]]
    assert num_pads(prompt) == 70 * (len(shown) // 2)


@pytest.mark.parametrize(
    ("width", "height", "patches"),
    # One token is 2 x 2 patches of 14 pixels; the area comes to 3,136 pixels or as near as it can.
    [
        (1, 1, (4, 4)),
        (2, 2, (4, 4)),
        (17, 33, (6, 4)),
        (33, 17, (4, 6)),
        (99, 101, (4, 2)),
        (161, 121, (2, 4)),
        (1000, 10, (2, 40)),
        (10, 1000, (40, 2)),
        (1900, 10, (2, 56)),
    ],
)
@pytest.mark.parametrize("num_frames", [1, 3])
def test_odd_sizes(
    tmp_path: Path, width: int, height: int, patches: tuple[int, int], num_frames: int
) -> None:
    path = write_clip(
        tmp_path / "a.mkv",
        num_frames,
        size=(width, height),
        codec="ffv1",
        pixel_format="bgr0",
        time_base=Fraction(1, 2),
    )
    info = probe_video(path)
    assert (info.width, info.height, info.num_frames) == (width, height, num_frames)
    clip = sample_video(path, SMALL)
    prompt = encode(clip)
    assert prompt.video_grid_thw.tolist() == [[1, *patches]]
    num_tokens = SMALL.num_video_tokens(info.duration_seconds, num_frames, height, width)
    assert num_pads(prompt) == num_tokens == patches[0] * patches[1] // 4
    check_model_reads(prompt)


@pytest.mark.parametrize(("width", "height"), [(2001, 10), (10, 2001)])
def test_a_picture_longer_than_any_processor_takes_is_named(
    tmp_path: Path, width: int, height: int
) -> None:
    path = write_clip(
        tmp_path / "a.mkv", 2, size=(width, height), codec="ffv1", pixel_format="bgr0"
    )
    with pytest.raises(VideoError, match=r"a\.mkv: aspect ratio 200\.1 .* crop the video"):
        sample_video(path, SMALL)


@pytest.mark.parametrize("num_frames", [1, 3, 31])
def test_counted_tokens_are_the_encoded_ones(tmp_path: Path, num_frames: int) -> None:
    """Counting needs no frames, only how many tokens they become."""
    path = write_clip(tmp_path / "a.mp4", num_frames, time_base=Fraction(1, 5))
    for budget in (SMALL, FrameBudget()):
        clip, info = sample_video(path, budget), probe_video(path)
        num_video = budget.num_video_tokens(
            info.duration_seconds, info.num_frames, info.height, info.width
        )
        for messages in (MESSAGES, segment_messages(clip.duration_seconds)):
            prompt = encode_prompt(shared_processor(), messages, [clip])
            assert count_prompt_tokens(shared_processor(), messages, num_video) == prompt.num_tokens


def test_an_answer_is_counted_with_its_end() -> None:
    ids = shared_processor().tokenizer("Joy and Fear")["input_ids"]
    assert count_answer_tokens(shared_processor(), "Joy and Fear") == len(ids) + 1
