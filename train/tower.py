"""The frozen tower of a trainer's model: features of clips, from disk where they are known.

Without a cache all of a batch's clips go through the tower in one call. With one, each clip goes
alone, so that its features are the same whatever else was missing, and a run repeats.

With weights that are sharded (ZeRO-3) every process must enter the tower equally often. One call
always is; with a cache the processes agree, at each batch, on the largest number of clips that any
of them lacks, and the others fill up with a picture of one token.

Example:
    tower = ClipTower(trainer.accelerator, cache)
    features = tower.features(trainer.model, [prompt])     # [(num_patches, tower hidden size)]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from affect.model.inputs import PromptInputs
from affect.model.policy import causal_model, run_tower
from affect.model.tower_cache import StoredClip, TowerCache, UnstoredClip
from affect.model.tower_identity import is_sharded, tower_identity
from train.sections import TrainRun


@dataclass(frozen=True)
class ClipInputs:
    """One clip: patches (N, patch size) or stored features (N, hidden), its grid (1, 3), seconds
    per grid, and where its features are to be kept once they are known.
    """

    pixels: Tensor
    grid_thw: Tensor
    second_per_grid: float
    to_store: UnstoredClip | None

    @classmethod
    def of(cls, prompt: PromptInputs) -> "ClipInputs":
        """The clip of a prompt with one video."""
        assert prompt.pixel_values_videos is not None and len(prompt.video_grid_thw) == 1
        [second] = prompt.second_per_grid_ts
        return cls(prompt.pixel_values_videos, prompt.video_grid_thw, second, prompt.to_store)


class ClipTower:
    """See the module's text. `num_runs` counts the clips that went through the tower here."""

    def __init__(self, accelerator: Any, cache: TowerCache | None) -> None:
        self.accelerator, self.cache = accelerator, cache
        self.num_runs = 0

    def features(self, model: Any, clips: Sequence[ClipInputs]) -> list[Tensor]:
        """Features (num_patches, hidden) of each clip, on the accelerator's device.

        With a cache and sharded weights all processes have to call it at the same time.
        """
        visual: Any = causal_model(model).model.visual
        if self.cache is None:
            sizes = [len(clip.pixels) for clip in clips]
            pixels = torch.cat([clip.pixels for clip in clips])
            features = self._run(visual, pixels, torch.cat([clip.grid_thw for clip in clips]))
            self.num_runs += len(clips)
            return list(torch.split(features, sizes))
        is_known = [clip.pixels.shape[-1] == visual.config.hidden_size for clip in clips]
        found = [clip.pixels.to(self.accelerator.device) for clip in clips]
        missing = [index for index, known in enumerate(is_known) if not known]
        # Agreed before anybody enters: sharded weights are gathered within the tower, and processes
        # must meet in the same order everywhere.
        num_calls = self._most(len(missing)) if is_sharded(visual) else len(missing)
        for index in missing:
            clip = clips[index]
            found[index] = self._run(visual, clip.pixels, clip.grid_thw)
            self.num_runs += 1
            self._store(clip, found[index])
        self._fill_up(visual, num_calls - len(missing))
        return found

    def _run(self, visual: Any, pixels: Tensor, grids: Tensor) -> Tensor:
        device = self.accelerator.device
        with self.accelerator.autocast():
            return run_tower(visual, pixels.to(device), grids.to(device))

    def _store(self, clip: ClipInputs, features: Tensor) -> None:
        assert self.cache is not None
        if clip.to_store is None:
            return
        num_t, num_h, num_w = clip.grid_thw[0].tolist()
        stored = StoredClip(
            features, (num_t, num_h, num_w), clip.second_per_grid, clip.to_store.duration_seconds
        )
        self.cache.put(clip.to_store.video, clip.to_store.key, stored)

    def _most(self, number: int) -> int:
        """The largest of all processes' numbers."""
        return int(
            self.accelerator.gather(torch.tensor([number], device=self.accelerator.device)).max()
        )

    def _fill_up(self, visual: Any, num_calls: int) -> None:
        """Enter the tower so many more times."""
        side = visual.spatial_merge_size
        vision = visual.config
        patch_size = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
        for _ in range(num_calls):
            self._run(visual, torch.zeros(side**2, patch_size), torch.tensor([[1, side, side]]))


def open_tower_cache(run: TrainRun, args: Any, model: Any, processor: Any) -> TowerCache | None:
    """The cache that a run asks for, if any; all processes have to call it at the same time.

    Args:
        args: TRL's arguments, which know device and precision.

    Raises:
        ValueError: its folder can't be made or written to.
    """
    if run.data.tower_cache is None:
        return None
    precision = "bf16" if args.bf16 else "fp16" if args.fp16 else run.model.dtype
    engine = "deepspeed" if args.deepspeed_plugin is not None else "torch"
    identity = tower_identity(
        model, processor, run.video, arithmetic=[args.device.type, precision, engine]
    )
    folder = Path(run.data.tower_cache)
    return TowerCache(folder, run.data.tower_cache_megabytes * 2**20, identity)
