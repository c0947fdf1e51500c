"""From rows to clips: the tower runs once per distinct one, and a row that lost its own stops."""

from pathlib import Path
from typing import Any

import pytest
import torch

from affect.video import FrameBudget
from data_prep.rendered.world import render_world
from tests.tiny import shared_processor
from tests.train.grpo_fixtures import (
    SyntheticClipStore,
    build_trainer,
    clips,
    fresh_policy,
    row,
    rows,
)
from tests.train.slow_grpo import plain_log_probs
from train.clips import ClipStore
from train.row_data import load_rows
from train.sections import DataSection


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"beta": 0.0},
        {"num_generations": 4},
        {"num_iterations": 2, "max_steps": 2},
        {"per_device_train_batch_size": 2, "steps_per_generation": 3, "max_steps": 3},
        {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 3},
        {"gradient_checkpointing": True},
    ],
    ids=lambda settings: ",".join(settings) or "plain",
)
def test_the_tower_runs_once_per_distinct_clip_and_sampling(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    """Rows a and c share a clip, so three prompts have two."""
    given = [row("a"), row("b"), row("c", video="clip_a")]
    seen: list[int] = []

    def count(model: Any) -> None:
        for block in model.model.visual.blocks:
            block.register_forward_pre_hook(lambda _, args: seen.append(len(args[0])))

    store = SyntheticClipStore(clips(given))
    trainer = build_trainer(tmp_path, given, store=store, attach=count, **settings)
    reference_seen: list[int] = []
    if trainer.ref_model is not None:
        trainer.ref_model.model.visual.blocks[0].register_forward_pre_hook(
            lambda _, args: reference_seen.append(len(args[0]))
        )
    trainer.train()
    num_patches = sum(len(store.prompt(row(name)).pixel_values_videos) for name in "ab")
    assert trainer.num_tower_runs == 2
    assert seen == [num_patches] * 2  # both blocks, once each, over both clips' patches
    assert reference_seen == []


def test_every_sampling_runs_the_tower_again_for_its_own_clips(tmp_path: Path) -> None:
    given = rows("abcd")
    trainer = build_trainer(tmp_path, given, per_device_train_batch_size=4, max_steps=2)
    trainer.train()
    assert [len(one.rows) for one in trainer.records.samplings] == [4, 4]
    assert trainer.num_tower_runs == 4


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three clips on disk, with their rows."""
    folder = tmp_path_factory.mktemp("rendered")
    render_world(folder, {"train": 3, "dev": 0, "test": 0}, seed=0)
    return folder


BUDGET = FrameBudget(max_frames=6, min_pixels=3136, max_pixels=3136)


def real_store(folder: Path, **settings: Any) -> tuple[DataSection, ClipStore]:
    data = DataSection(rows=folder / "train.grpo.jsonl", video_root=folder, **settings)
    return data, ClipStore(shared_processor(), data, BUDGET)


@pytest.mark.parametrize("prompt", ["project", "row"])
def test_real_files_train_with_the_projects_prompt_and_with_the_rows_own(
    prompt: str, rendered: Path, tmp_path: Path
) -> None:
    data, store = real_store(rendered, prompt=prompt)
    dataset = load_rows(data)
    trainer = build_trainer(tmp_path, list(dataset), store=store)
    trainer.train()
    assert trainer.num_tower_runs == 3
    assert store.num_decodes == 3
    assert len(trainer.records.logs) == 2
    policy = fresh_policy()
    sampling = trainer.records.samplings[0]
    found = trainer.policy_log_probs()
    for index, (one, sampled) in enumerate(zip(sampling.rows, sampling.completions, strict=True)):
        with torch.no_grad():
            expected = plain_log_probs(policy, store.prompt(one), sampled.token_ids, 0.8)
        assert torch.allclose(found[index, : len(expected)], expected, atol=1e-5)


def test_a_missing_video_file_stops_the_run_and_names_the_row(
    rendered: Path, tmp_path: Path
) -> None:
    data, store = real_store(rendered)
    dataset = [dict(one) for one in load_rows(data)]
    dataset[1]["video"] = "videos/train/gone.mp4"
    trainer = build_trainer(tmp_path, dataset, store=store)
    with pytest.raises(ValueError, match=rf"row {dataset[1]['id']}: .*gone\.mp4"):
        trainer.train()
    assert trainer.state.global_step == 0


def test_a_prompt_without_a_place_for_its_video_stops_the_run(tmp_path: Path) -> None:
    given = rows("ab")
    given[1]["prompt"][0]["content"] = [{"type": "text", "text": "Describe bbb."}]
    trainer = build_trainer(tmp_path, given, store=SyntheticClipStore(clips(rows("ab"))))
    with pytest.raises(ValueError, match=r"row b: .* 0 places for a video"):
        trainer.train()


def test_none_keys_of_the_arrow_round_trip_make_no_second_video(tmp_path: Path) -> None:
    trainer = build_trainer(tmp_path, rows("ab"))
    parts = trainer.train_dataset[0]["prompt"][0]["content"]
    assert parts[1] == {"type": "text", "text": "Describe aaa.", "video": None}
    trainer.train()
    video_token = trainer.model.config.video_token_id
    for one, ids in zip(
        trainer.records.samplings[0].rows,
        trainer.records.samplings[0].output["prompt_ids"],
        strict=True,
    ):
        prompt = trainer.clips.prompt(row(one["id"]))
        assert ids[-prompt.num_tokens :].tolist() == prompt.input_ids.tolist()
        assert int((ids == video_token).sum()) == int(prompt.video_grid_thw.prod()) // 4
