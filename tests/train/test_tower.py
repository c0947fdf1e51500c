"""One decode and one tower run per clip and update; with a cache on disk, none the second time."""

import copy
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from affect.model.policy import run_tower
from affect.model.tower_cache import TowerCache, UnstoredClip
from affect.model.tower_identity import tower_identity
from affect.video import FrameBudget
from data_prep.rendered.world import render_world
from tests.tiny import shared_processor, synthetic_clip, tiny_policy, tiny_prompt
from tests.train.drawn_rows import BUDGET as SFT_BUDGET
from tests.train.drawn_rows import CLIPS, data_section, draw_world, sft_trainer, trained_weights
from tests.train.grpo_fixtures import build_trainer, fresh_policy
from train import tower as tower_module
from train.clips import ClipStore
from train.row_data import load_rows
from train.sections import DataSection
from train.tower import ClipInputs, ClipTower

BUDGET = FrameBudget(max_frames=6, min_pixels=3136, max_pixels=3136)
# Two updates per sampling, so that old log-probs are computed; a reference; two micro-batches.
ALL_PASSES: dict[str, Any] = {
    "num_iterations": 2,
    "max_steps": 2,
    "per_device_train_batch_size": 6,
    "beta": 0.04,
}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three clips on disk, with their rows."""
    folder = tmp_path_factory.mktemp("rendered")
    render_world(folder, {"train": 3, "dev": 0, "test": 0}, seed=0)
    return folder


def grpo_store(
    folder: Path, cache_folder: Path | None = None, **settings: Any
) -> tuple[DataSection, ClipStore]:
    data = DataSection(
        rows=folder / "train.grpo.jsonl", video_root=folder, prompt="row", **settings
    )
    cache = None
    if cache_folder is not None:
        identity = tower_identity(fresh_policy(), shared_processor(), BUDGET, arithmetic=["cpu"])
        cache = TowerCache(cache_folder, 10**8, identity)
    return data, ClipStore(shared_processor(), data, BUDGET, tower_cache=cache)


def trained(folder: Path, data: DataSection, store: ClipStore, **settings: Any) -> Any:
    trainer = build_trainer(folder, list(load_rows(data)), store=store, **settings)
    trainer.train()
    return trainer


def weights(trainer: Any) -> dict[str, torch.Tensor]:
    return {name: weight.detach() for name, weight in trainer.model.named_parameters()}


def test_one_decode_and_one_tower_run_serve_sampling_and_every_log_prob_pass(
    rendered: Path, tmp_path: Path
) -> None:
    """Without memory for frames, so that every read of a clip is a decode."""
    data, store = grpo_store(rendered, clip_cache_megabytes=0)
    in_tower: list[int] = []

    def count(model: Any) -> None:
        model.model.visual.blocks[0].register_forward_pre_hook(
            lambda _, args: in_tower.append(len(args[0]))
        )

    trainer = build_trainer(
        tmp_path, list(load_rows(data)), store=store, attach=count, **ALL_PASSES
    )
    count(trainer.ref_model)
    trainer.train()
    passes = [one.name for one in trainer.records.passes]
    assert {"old", "reference", "policy"} == set(passes)
    assert len(trainer.records.samplings) == 1 and trainer.state.global_step == 2
    assert trainer.num_tower_runs == store.num_decodes == 3
    assert len(in_tower) == 1 and in_tower[0] == 3 * 3 * 16  # 3 clips, 3 grids of 4 x 4 patches


def test_what_is_on_disk_is_neither_decoded_nor_run_again_and_gives_the_same_run(
    rendered: Path, tmp_path: Path
) -> None:
    plain = trained(tmp_path / "plain", *grpo_store(rendered), **ALL_PASSES)
    data, store = grpo_store(rendered, tmp_path / "cache", clip_cache_megabytes=0)
    first = trained(tmp_path / "first", data, store, **ALL_PASSES)
    assert (first.num_tower_runs, store.num_decodes) == (3, 3)
    data, again = grpo_store(rendered, tmp_path / "cache", clip_cache_megabytes=0)
    second = trained(tmp_path / "second", data, again, **ALL_PASSES)
    assert (second.num_tower_runs, again.num_decodes) == (0, 0)
    assert again.tower_cache is not None and again.tower_cache.num_hits == 3
    samplings = [one.records.samplings[0] for one in (plain, first, second)]
    tokens = [[c.token_ids for c in sampling.completions] for sampling in samplings]
    assert tokens[0] == tokens[1] == tokens[2]
    for name, weight in weights(second).items():
        assert torch.equal(weight, weights(first)[name]), name
        assert torch.allclose(weight, weights(plain)[name], atol=1e-5), name


def test_a_second_epoch_decodes_nothing(rendered: Path, tmp_path: Path) -> None:
    data, store = grpo_store(rendered, tmp_path / "cache", clip_cache_megabytes=0)
    trainer = trained(tmp_path, data, store, max_steps=4)
    assert len(trainer.records.samplings) == 4
    assert (trainer.num_tower_runs, store.num_decodes) == (3, 3)


def test_damage_and_eviction_in_between_change_nothing(rendered: Path, tmp_path: Path) -> None:
    data, store = grpo_store(rendered, tmp_path / "cache", clip_cache_megabytes=0)
    first = trained(tmp_path / "first", data, store)
    entries = sorted((tmp_path / "cache").iterdir())
    entries[0].write_bytes(entries[0].read_bytes()[:200])
    entries[1].unlink()
    data, again = grpo_store(rendered, tmp_path / "cache", clip_cache_megabytes=0)
    second = trained(tmp_path / "second", data, again)
    assert (second.num_tower_runs, again.num_decodes) == (2, 2)
    for name, weight in weights(second).items():
        assert torch.equal(weight, weights(first)[name]), name
    assert sorted((tmp_path / "cache").iterdir()) == entries


def test_a_stored_clip_must_last_as_long_as_the_row_says(rendered: Path, tmp_path: Path) -> None:
    data, store = grpo_store(rendered, tmp_path / "cache")
    trained(tmp_path / "run", data, store)
    one = dict(load_rows(data)[0])
    _, again = grpo_store(rendered, tmp_path / "cache")
    assert again.prompt(one).to_store is None
    one["video_duration"] += 1.0
    with pytest.raises(ValueError, match=rf"row {one['id']}: video_duration is .* s, but"):
        again.prompt(one)
    assert again.num_decodes == 0
    one["video"] = "videos/train/gone.mp4"
    with pytest.raises(ValueError, match=rf"row {one['id']}: .*gone\.mp4"):
        again.prompt(one)


def test_the_cold_start_reads_and_fills_the_same_cache(tmp_path: Path) -> None:
    world = draw_world(tmp_path / "world")
    identity = tower_identity(tiny_policy()[0], shared_processor(), SFT_BUDGET, arithmetic=["cpu"])

    def run(name: str, has_cache: bool) -> tuple[Any, ClipStore, dict[str, torch.Tensor]]:
        cache = TowerCache(tmp_path / "cache", 10**8, identity) if has_cache else None
        data = data_section(world, clip_cache_megabytes=0)
        store = ClipStore(shared_processor(), data, SFT_BUDGET, tower_cache=cache)
        trainer = sft_trainer(
            world, tmp_path / name, store=store, per_device_train_batch_size=2, max_steps=4
        )
        return trainer, store, trained_weights(trainer)

    _, plain_store, plain = run("plain", has_cache=False)
    first_trainer, first_store, first = run("first", has_cache=True)
    second_trainer, second_store, second = run("second", has_cache=True)
    assert plain_store.num_decodes == 8  # two epochs
    assert (first_trainer.tower.num_runs, first_store.num_decodes) == (4, 4) == (len(CLIPS),) * 2
    assert (second_trainer.tower.num_runs, second_store.num_decodes) == (0, 0)
    for name, weight in plain.items():
        assert torch.equal(first[name], second[name]), name
        assert torch.allclose(weight, first[name], atol=1e-5), name


# --- sharded weights ------------------------------------------------------------------------------


class TwoProcesses:
    """The accelerator of two threads that meet in `gather`, as two processes do in a collective."""

    def __init__(self) -> None:
        self._barrier = threading.Barrier(2, timeout=20.0)
        self._values: list[torch.Tensor] = []

    def accelerator(self) -> Any:
        return SimpleNamespace(
            device=torch.device("cpu"), gather=self._gather, autocast=lambda: torch.no_grad()
        )

    def _gather(self, value: torch.Tensor) -> torch.Tensor:
        self._values.append(value)
        self._barrier.wait()
        return torch.cat(self._values)


def test_every_process_enters_a_sharded_tower_equally_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One lacks three clips, the other none: without filling up, the first would wait for ever."""
    monkeypatch.setattr(tower_module, "is_sharded", lambda visual: True)
    model, processor = tiny_policy()
    prompts = [tiny_prompt(processor, synthetic_clip(seed, num_frames=4)) for seed in range(3)]
    video = tmp_path / "clip.mp4"
    video.write_bytes(b"x")
    cache = TowerCache(tmp_path / "cache", 10**8, "tower")
    visual = model.model.visual
    known = [
        ClipInputs(
            run_tower(visual, prompt.pixel_values_videos, prompt.video_grid_thw),
            prompt.video_grid_thw,
            1.0,
            None,
        )
        for prompt in prompts
    ]
    unknown = [
        ClipInputs(
            prompt.pixel_values_videos, prompt.video_grid_thw, 1.0,
            UnstoredClip(video, cache.key(video), 2.0),
        )
        for prompt in prompts
    ]  # fmt: skip
    both = TwoProcesses()
    models = {name: copy.deepcopy(model) for name in ("warm", "cold")}
    entered: dict[str, int] = {}
    found: dict[str, list[torch.Tensor]] = {}

    def process(name: str, clips: list[ClipInputs]) -> None:
        own = models[name]

        def count(*arguments: Any) -> None:
            entered[name] = entered.get(name, 0) + 1

        own.model.visual.register_forward_pre_hook(count)
        found[name] = ClipTower(both.accelerator(), cache).features(own, clips)

    threads = [
        threading.Thread(target=process, args=given)
        for given in (("warm", known), ("cold", unknown))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert entered == {"warm": 3, "cold": 3}
    for warm, cold in zip(found["warm"], found["cold"], strict=True):
        assert torch.allclose(warm, cold, atol=1e-6)
