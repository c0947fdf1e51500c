"""From messages and clips to tensors: no video is lost, doubled, resized or sampled again."""

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset

from affect.model.inputs import (
    banned_token_ids,
    encode_prompt,
    pad_rows,
    segment_messages,
    strip_none_keys,
)
from affect.video import FrameBudget, sample_video
from tests.paths import SHARED, needs_shared
from tests.tiny import shared_processor, synthetic_clip

VIDEO, START, END = "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"


def user_turn(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(parts)}]


def text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def decoded(input_ids: torch.Tensor) -> str:
    text: str = shared_processor().tokenizer.decode(input_ids)
    return text


def with_keys_template() -> Any:
    """A processor whose template asks for keys, not types, as published ones do."""
    processor = copy.deepcopy(shared_processor())
    old = "part['type'] == 'video'"
    assert old in processor.chat_template
    processor.chat_template = processor.chat_template.replace(old, f"{old} or 'video' in part")
    return processor


# ------------------------------------------------------------------- None keys


def test_keys_that_arrow_adds_are_stripped_after_a_real_round_trip() -> None:
    rows = [
        {"prompt": user_turn({"type": "video", "video": "a.mp4"}, text_part("First."))},
        {
            "prompt": user_turn(
                text_part("Look:"), {"type": "video", "fps": 2.0}, text_part("Next.")
            )
        },
    ]
    dataset = Dataset.from_list(rows).map(lambda row: row)
    returned = [row["prompt"] for row in dataset]
    assert returned[0][0]["content"][1]["video"] is None  # else this test proves nothing
    assert [strip_none_keys(messages) for messages in returned] == [row["prompt"] for row in rows]
    processor = with_keys_template()
    for messages in returned:
        raw = processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert raw.count(VIDEO) > 1
        prompt = encode_prompt(processor, messages, [synthetic_clip()])
        assert decoded(prompt.input_ids).count(START + VIDEO) == 1
        assert prompt.video_grid_thw.tolist() == [[4, 4, 4]]


def test_the_projects_messages_survive_a_dataset() -> None:
    messages = segment_messages(8.0)
    dataset = Dataset.from_list([{"prompt": messages}, {"prompt": segment_messages(9.5)}])
    clip = synthetic_clip()
    found = encode_prompt(shared_processor(), dataset[0]["prompt"], [clip])
    assert torch.equal(
        found.input_ids, encode_prompt(shared_processor(), messages, [clip]).input_ids
    )


def test_stripping_leaves_texts_and_the_callers_messages_alone() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "", "video": None}]},
    ]
    before = copy.deepcopy(messages)
    assert strip_none_keys(messages) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": ""}]},
    ]
    assert messages == before


# ------------------------------------------------------------------ lost videos


@pytest.mark.parametrize(
    ("messages", "num_clips"),
    [
        pytest.param(user_turn(text_part("What happens?")), 1, id="text parts and a clip"),
        pytest.param([{"role": "user", "content": "What happens?"}], 1, id="a text and a clip"),
        pytest.param(user_turn({"type": "video"}, text_part("?")), 0, id="a part, no clip"),
        pytest.param(user_turn({"type": "video"}, text_part("?")), 2, id="a part, two clips"),
        pytest.param(user_turn({"type": "video"}, {"type": "video"}), 1, id="two parts, one clip"),
        pytest.param(user_turn(text_part(f"<video>{VIDEO}")), 1, id="the token as text"),
        pytest.param([{"role": "user", "content": VIDEO}], 1, id="the token as the whole text"),
        pytest.param(
            user_turn({"type": "video"}, text_part(f"Say {VIDEO}")), 2, id="a part, and a token"
        ),
    ],
)
def test_a_lost_or_doubled_video_stops_with_the_rows_name(
    messages: list[dict[str, Any]], num_clips: int
) -> None:
    clips = [synthetic_clip(seed) for seed in range(num_clips)]
    with pytest.raises(ValueError, match=rf"^row train/00012: .* {num_clips} videos were given"):
        encode_prompt(shared_processor(), messages, clips, name="train/00012")


def test_a_still_image_is_refused() -> None:
    messages = user_turn({"type": "image"}, {"type": "video"}, text_part("?"))
    with pytest.raises(ValueError, match=r"row 7: still images .* not supported"):
        encode_prompt(shared_processor(), messages, [synthetic_clip()], name="7")


# ------------------------------------------------------------ tokens and patches


@pytest.mark.parametrize(
    ("num_frames", "height", "width", "grid", "num_tokens"),
    [
        (8, 56, 56, [4, 4, 4], 16),
        (30, 224, 224, [15, 16, 16], 960),
        (2, 28, 28, [1, 2, 2], 1),
        (6, 84, 140, [3, 6, 10], 45),
        (1, 56, 56, [1, 4, 4], 4),
        (7, 56, 28, [4, 4, 2], 8),
    ],
)
def test_placeholders_in_literal_numbers(
    num_frames: int, height: int, width: int, grid: list[int], num_tokens: int
) -> None:
    clip = synthetic_clip(num_frames=num_frames, height=height, width=width)
    processor = shared_processor()
    prompt = encode_prompt(
        processor, user_turn({"type": "video"}, text_part("Describe.")), [clip], name="x"
    )
    assert prompt.video_grid_thw.tolist() == [grid]
    assert int((prompt.input_ids == processor.video_token_id).sum()) == num_tokens
    assert prompt.pixel_values_videos is not None
    assert prompt.pixel_values_videos.shape == (4 * num_tokens, 3 * 2 * 14 * 14)
    video = START + VIDEO * num_tokens + END
    expected = f"<|im_start|>user\n{video}Describe.<|im_end|>\n<|im_start|>assistant\n"
    assert decoded(prompt.input_ids) == expected
    assert prompt.num_tokens == len(prompt.input_ids)
    assert prompt.name == "x"


def test_clips_stand_in_order_each_with_its_own_grid_patches_and_seconds() -> None:
    clips = [
        synthetic_clip(1, num_frames=4, duration_seconds=2.0),
        synthetic_clip(2, num_frames=30, height=84, duration_seconds=60.0),
    ]
    processor = shared_processor()
    messages = user_turn(
        {"type": "video"}, text_part("and"), {"type": "video"}, text_part("differ?")
    )
    prompt = encode_prompt(processor, messages, clips)
    assert prompt.video_grid_thw.tolist() == [[2, 4, 4], [15, 6, 4]]
    assert prompt.second_per_grid_ts == (1.0, 4.0)
    videos = [f"{START}{VIDEO * number}{END}" for number in (8, 90)]
    assert f"user\n{videos[0]}and{videos[1]}differ?<|im_end|>" in decoded(prompt.input_ids)
    alone = [
        encode_prompt(processor, user_turn({"type": "video"}), [clip]).pixel_values_videos
        for clip in clips
    ]
    assert prompt.pixel_values_videos is not None
    assert torch.equal(
        prompt.pixel_values_videos, torch.cat([part for part in alone if part is not None])
    )


def test_seconds_come_from_the_clip_not_from_its_frame_count() -> None:
    clip = dataclasses.replace(synthetic_clip(), second_per_grid_seconds=3.25)
    prompt = encode_prompt(shared_processor(), user_turn({"type": "video"}), [clip])
    assert prompt.second_per_grid_ts == (3.25,)


def test_without_a_video() -> None:
    prompt = encode_prompt(shared_processor(), user_turn(text_part("Hello")), [])
    assert prompt.pixel_values_videos is None
    assert prompt.video_grid_thw.shape == (0, 3)
    assert prompt.second_per_grid_ts == ()


@pytest.mark.parametrize("frames_first", [True, False])
def test_patches_equal_those_of_the_processor_by_itself(frames_first: bool) -> None:
    clip = synthetic_clip(5, num_frames=6, height=84, width=140)
    processor = shared_processor()
    prompt = encode_prompt(processor, user_turn({"type": "video"}), [clip])
    frames: Any = clip.frames
    if frames_first:
        frames = torch.from_numpy(clip.frames).permute(0, 3, 1, 2)
    output = processor.video_processor(
        videos=[frames], do_resize=False, do_sample_frames=False, return_tensors="pt"
    )
    assert prompt.pixel_values_videos is not None
    assert torch.equal(prompt.pixel_values_videos, output["pixel_values_videos"])
    assert torch.equal(prompt.video_grid_thw, output["video_grid_thw"])


def test_a_patch_holds_its_pixels_by_colour_frame_row_and_column() -> None:
    clip = synthetic_clip(6, num_frames=4, height=56, width=84)
    noise = np.random.default_rng(6).integers(0, 256, clip.frames.shape, dtype=np.uint8)
    clip = dataclasses.replace(clip, frames=noise)
    prompt = encode_prompt(shared_processor(), user_turn({"type": "video"}), [clip])
    mean, spread = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    # Patches come in squares of 2 x 2: number 6 is the third patch of the second square, that is
    # the second row of patches and the third column.
    pixels = noise[0:2, 14:28, 28:42].astype(np.float64) / 255
    expected = ((pixels - mean) / spread).transpose(3, 0, 1, 2).reshape(-1)
    assert prompt.pixel_values_videos is not None
    found = prompt.pixel_values_videos[6].double().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_frames_are_neither_resized_nor_sampled_whatever_the_processor_is_set_to() -> None:
    processor = copy.deepcopy(shared_processor())
    clip = synthetic_clip(7, num_frames=8, height=112, width=56)
    expected = encode_prompt(processor, user_turn({"type": "video"}), [clip])
    processor.video_processor.size = {"shortest_edge": 28 * 28, "longest_edge": 28 * 28}
    processor.video_processor.do_resize = True
    processor.video_processor.do_sample_frames = True
    processor.video_processor.num_frames = 2
    processor.video_processor.cap_pixels_per_frame = True
    found = encode_prompt(processor, user_turn({"type": "video"}), [clip])
    assert found.video_grid_thw.tolist() == [[4, 8, 4]]
    assert found.pixel_values_videos is not None and expected.pixel_values_videos is not None
    assert torch.equal(found.pixel_values_videos, expected.pixel_values_videos)


def test_an_odd_count_of_frames_is_filled_with_the_last() -> None:
    even = synthetic_clip(8, num_frames=5)
    assert len(even.frames) == 6 and even.num_sampled_frames == 5
    odd = dataclasses.replace(even, frames=even.frames[:5])
    prompts = [
        encode_prompt(shared_processor(), user_turn({"type": "video"}), [clip])
        for clip in (even, odd)
    ]
    assert [prompt.video_grid_thw.tolist() for prompt in prompts] == [[[3, 4, 4]]] * 2
    patches = [prompt.pixel_values_videos for prompt in prompts]
    assert patches[0] is not None and patches[1] is not None
    assert torch.equal(patches[0], patches[1])
    # Both frames of the last grid are the same picture: (patch, colour, frame, row, column).
    last = patches[0][32:].view(16, 3, 2, 14, 14)
    assert torch.equal(last[:, :, 0], last[:, :, 1])
    # 5 frames in 4 s are 1.25 a second; the sixth, which fills up, takes no time.
    assert prompts[0].second_per_grid_ts == (1.6,)


@needs_shared
def test_a_real_clip_costs_what_the_budget_says() -> None:
    budget = FrameBudget()
    clip = sample_video(SHARED / "videos" / "derived" / "audio_longer_than_video.mp4", budget)
    prompt = encode_prompt(shared_processor(), segment_messages(clip.duration_seconds), [clip])
    # 5.28 s at 2 a second: 10 frames of 168 x 308, 12 x 22 patches.
    assert prompt.video_grid_thw.tolist() == [[5, 12, 22]]
    num_video = int((prompt.input_ids == shared_processor().video_token_id).sum())
    assert num_video == 330 == budget.num_video_tokens(5.28, 132, 180, 320)
    assert prompt.second_per_grid_ts == (pytest.approx(1.056),)
    assert "5.3" in decoded(prompt.input_ids)


# --------------------------------------------------------------------- messages


def test_a_system_turn_is_kept() -> None:
    messages = [{"role": "system", "content": "Be brief."}, *user_turn({"type": "video"})]
    prompt = encode_prompt(shared_processor(), messages, [synthetic_clip()])
    start = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n"
    assert decoded(prompt.input_ids).startswith(start + START + VIDEO)


@pytest.mark.parametrize(
    ("duration_seconds", "shown"), [(9.0, "9.0"), (5.28, "5.3"), (30, "30.0"), (0.999, "1.0")]
)
def test_the_projects_prompt(duration_seconds: float, shown: str) -> None:
    [message] = segment_messages(duration_seconds)
    assert message["role"] == "user"
    assert [part["type"] for part in message["content"]] == ["video", "text"]
    assert message["content"][0] == {"type": "video"}
    assert f"{shown} seconds" in message["content"][1]["text"]
    assert VIDEO not in message["content"][1]["text"]


def test_the_ids_that_may_not_be_sampled() -> None:
    tokenizer = shared_processor().tokenizer
    banned = banned_token_ids(shared_processor())
    assert {tokenizer.convert_ids_to_tokens(token) for token in banned} == {
        "<|vision_start|>",
        "<|vision_end|>",
        "<|vision_pad|>",
        "<|image_pad|>",
        "<|video_pad|>",
    }
    assert tokenizer.eos_token_id not in banned and tokenizer.pad_token_id not in banned


def test_padding_on_either_side() -> None:
    rows = [torch.tensor([1, 2, 3]), torch.tensor([4]), torch.tensor([5, 6])]
    left, left_mask = pad_rows(rows, 9, side="left")
    assert left.tolist() == [[1, 2, 3], [9, 9, 4], [9, 5, 6]]
    assert left_mask.tolist() == [[1, 1, 1], [0, 0, 1], [0, 1, 1]]
    right, right_mask = pad_rows(rows, 9, side="right")
    assert right.tolist() == [[1, 2, 3], [4, 9, 9], [5, 6, 9]]
    assert right_mask.tolist() == [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    assert left.dtype == right.dtype == torch.long
    # A token that happens to equal the padding still counts.
    assert pad_rows([torch.tensor([9, 9])], 9, side="left")[1].tolist() == [[1, 1]]
    assert [part.shape for part in pad_rows([torch.tensor([])], 0, side="left")] == [(1, 0)] * 2
