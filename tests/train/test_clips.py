"""From a row to its clip and prompt: what is refused, and what is decoded how often."""

import os
from pathlib import Path
from typing import Any

import pytest

from affect.prompts import render_segment_prompt
from tests.tiny import shared_processor
from tests.train.drawn_rows import BUDGET, CLIPS, clip_store, data_section, draw_world, sft_trainer
from train.clips import ClipStore
from train.row_data import load_rows


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_world(tmp_path_factory.mktemp("world"))


def stored(name: str, **changes: Any) -> dict[str, Any]:
    """A row as the data set hands it over."""
    return {
        "id": name,
        "video": f"videos/{name}.mp4",
        "video_duration": CLIPS[name][0] / 5,
        "prompt": [
            {
                "role": "user",
                "content": [{"type": "video"}, {"type": "text", "text": "\nDescribe."}],
            }
        ],
        **changes,
    }


def test_the_clip_of_a_row(world: Path) -> None:
    clip = clip_store(world).video(stored("wide"))
    assert clip.frames.shape == (6, 56, 84, 3)
    assert (clip.duration_seconds, clip.second_per_grid_seconds) == (3.0, 1.0)


@pytest.mark.parametrize("stated", [3.16, 2.84, 30.0])
def test_a_duration_that_is_not_the_pictures(world: Path, stated: float) -> None:
    with pytest.raises(ValueError) as caught:
        clip_store(world).video(stored("wide", video_duration=stated))
    assert str(caught.value) == (
        f"row wide: video_duration is {stated} s, but the pictures of videos/wide.mp4 last 3.000 s"
    )


@pytest.mark.parametrize("stated", [3.14, 2.86])
def test_released_rows_round_their_duration(world: Path, stated: float) -> None:
    assert clip_store(world).video(stored("wide", video_duration=stated)).duration_seconds == 3.0


def test_a_missing_video(world: Path) -> None:
    with pytest.raises(ValueError, match=r"^row wide: .*videos/nowhere\.mp4"):
        clip_store(world).video(stored("wide", video="videos/nowhere.mp4"))


def test_a_broken_video(world: Path) -> None:
    whole = (world / "videos" / "wide.mp4").read_bytes()
    (world / "videos" / "half.mp4").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"^row wide: .*half\.mp4"):
        clip_store(world).video(stored("wide", video="videos/half.mp4"))


@pytest.mark.parametrize(
    "video", ["../outside.mp4", "videos/../../outside.mp4", "/etc/outside.mp4"]
)
def test_a_path_that_leaves_the_root(world: Path, video: str) -> None:
    with pytest.raises(ValueError, match=r"^row wide: .*outside\.mp4"):
        clip_store(world).video(stored("wide", video=video))


def test_a_link_that_leaves_the_root(tmp_path: Path) -> None:
    world = draw_world(tmp_path / "world", ["wide"])
    (world / "videos" / "wide.mp4").rename(tmp_path / "outside.mp4")
    os.symlink(tmp_path / "outside.mp4", world / "videos" / "wide.mp4")
    with pytest.raises(ValueError, match=r"^row wide: .*root"):
        clip_store(world).video(stored("wide"))


def test_the_prompt_of_a_row(world: Path) -> None:
    store = clip_store(world)
    prompt = store.prompt(stored("wide"))
    pads = "<|video_pad|>" * 18
    assert shared_processor().tokenizer.decode(prompt.input_ids) == (
        f"<|im_start|>user\n<|vision_start|>{pads}<|vision_end|>\nDescribe.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert (prompt.name, prompt.num_tokens) == ("wide", 37)


def test_the_projects_prompt_tells_the_decoded_duration(world: Path) -> None:
    """The row may have been rounded; what is shown is what was decoded."""
    store = clip_store(world, prompt="project")
    text = shared_processor().tokenizer.decode(
        store.prompt(stored("wide", video_duration=3.1)).input_ids
    )
    assert render_segment_prompt(3.0) in text
    assert "Describe." not in text


def test_a_prompt_of_just_the_allowed_length(world: Path) -> None:
    assert clip_store(world, max_prompt_tokens=37).prompt(stored("wide")).num_tokens == 37


def test_a_prompt_that_is_too_long_is_not_cut(world: Path) -> None:
    with pytest.raises(ValueError, match=r"row wide: its prompt has 37 tokens, 36 are allowed"):
        clip_store(world, max_prompt_tokens=36).prompt(stored("wide"))


def test_a_prompt_without_a_place_for_the_video(world: Path) -> None:
    """Training on the text alone would go unnoticed."""
    lost = [{"role": "user", "content": [{"type": "text", "text": "Describe."}]}]
    with pytest.raises(ValueError, match=r"row wide: the prompt has 0 places for a video"):
        clip_store(world).prompt(stored("wide", prompt=lost))


def test_none_keys_of_an_arrow_round_trip_are_no_second_video(world: Path) -> None:
    parts = [
        {"type": "video", "text": None, "video": "videos/wide.mp4"},
        {"type": "text", "text": "\nDescribe.", "video": None},
    ]
    store = clip_store(world)
    prompt = store.prompt(stored("wide", prompt=[{"role": "user", "content": parts}]))
    assert prompt.input_ids.tolist() == store.prompt(stored("wide")).input_ids.tolist()


def test_a_second_epoch_decodes_nothing(world: Path, tmp_path: Path) -> None:
    store = clip_store(world)
    sft_trainer(
        world, tmp_path, store=store, per_device_train_batch_size=2, max_steps=6, logging_steps=6
    ).train()
    assert store.num_decodes == 4  # three epochs of four clips


def test_without_memory_each_epoch_decodes_again(world: Path) -> None:
    store = clip_store(world, clip_cache_megabytes=0)
    for _ in range(2):
        for row in load_rows(store.data):
            store.prompt(row)
    assert store.num_decodes == 8


def test_two_rows_of_one_video_decode_it_once(world: Path) -> None:
    store = ClipStore(shared_processor(), data_section(world), BUDGET)
    store.prompt(stored("wide"))
    store.prompt(stored("wide", id="again"))
    assert store.num_decodes == 1
