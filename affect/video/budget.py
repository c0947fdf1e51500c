"""How many frames of which size a model is shown: one budget for train, rollout, test and serving.

    60 s, default budget:  min(30, 2 fps * 60 s) = 30 frames -> .5 fps, 4.0 s per temporal grid
    320x180:               57,600 pixels fit -> 168x308 (hxw), 12x22 patches
    tokens:                15 grids * (12 * 22) / 4 = 990

Example:
    budget = FrameBudget()
    budget.num_frames(60.0, 1500), budget.frame_size(180, 320)      # 30, (168, 308)
    budget.num_video_tokens(60.0, 1500, 180, 320)                   # 990
"""

import math
from fractions import Fraction

from pydantic import BaseModel, ConfigDict, Field, model_validator

TEMPORAL_IDS_PER_SECOND = 2
"""`tokens_per_second` of Qwen2.5-VL's released configs: how finely its temporal positions count."""

MAX_ASPECT_RATIO = 200
"""Longer side over shorter side, beyond which Qwen's processors refuse a picture."""

_ROUNDING_FRAMES = Fraction(1, 10**6)
"""fps * seconds this little under a whole number is that number: both are decimal to the user."""


class FrameBudget(BaseModel):
    """Limits on what one video may cost; `model_dump()` is what `budget.json` records."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fps: float = Field(2.0, gt=0, description="frames per second to aim at")
    min_frames: int = Field(4, ge=1, description="frames of a short clip, as far as it has them")
    max_frames: int = Field(30, ge=1, description="frames of a long video")
    min_pixels: int = Field(50_176, ge=1, description="smaller frames are scaled up to this area")
    max_pixels: int = Field(200_704, ge=1, description="larger frames are scaled down to this area")
    patch_size: int = Field(14, ge=1, description="side in pixels of the vision tower's patches")
    merge_size: int = Field(2, ge=1, description="patches per side that become one token")
    temporal_patch_size: int = Field(2, ge=1, description="frames that become one temporal grid")

    @model_validator(mode="after")
    def _limits_fit(self) -> "FrameBudget":
        if self.min_frames > self.max_frames:
            raise ValueError(
                f"min_frames ({self.min_frames}) is above max_frames ({self.max_frames}); swap them"
            )
        if self.min_pixels > self.max_pixels:
            raise ValueError(
                f"min_pixels ({self.min_pixels}) is above max_pixels ({self.max_pixels}); swap them"
            )
        if self.fps > self.max_fps:
            raise ValueError(
                f"fps ({self.fps}) is above {self.max_fps}, beyond which neighbouring temporal "
                "grids share one position in the model; lower it"
            )
        return self

    @property
    def max_fps(self) -> int:
        """Effective rate up to which each temporal grid has a position id of its own: a grid takes
        temporal_patch_size / fps seconds, and there are two ids per second. 4 for Qwen2.5-VL."""
        return TEMPORAL_IDS_PER_SECOND * self.temporal_patch_size

    @property
    def size_step(self) -> int:
        """Frame sides are multiples of this many pixels: those of one token (28)."""
        return self.patch_size * self.merge_size

    def num_frames(self, duration_seconds: float, available_frames: int) -> int:
        """How many frames to sample, before an odd count is padded.

        fps * duration, rounded down; raised to min_frames and lowered to max_frames; then lowered
        to the frames that there are and to `max_fps` times the duration, in this order, so that
        the last two always hold; but never under 1 frame. (One frame is one grid, whose id is its
        own whatever its rate.)
        """
        if not (math.isfinite(duration_seconds) and duration_seconds > 0):
            raise ValueError(f"duration must be finite and above 0 s, got {duration_seconds}")
        if available_frames < 1:
            raise ValueError(f"a video has at least 1 frame, got {available_frames}")
        exact_seconds = Fraction(duration_seconds)
        aimed = math.floor(Fraction(self.fps) * exact_seconds + _ROUNDING_FRAMES)
        aimed = min(max(aimed, self.min_frames), self.max_frames)
        # Exact, so that a rate a hair above the limit cannot slip through.
        distinct = math.floor(self.max_fps * exact_seconds)
        return max(1, min(aimed, available_frames, distinct))

    def effective_fps(self, duration_seconds: float, num_sampled_frames: int) -> float:
        """Sampled frames per second of picture; the count before padding."""
        return num_sampled_frames / duration_seconds

    def second_per_grid_seconds(self, duration_seconds: float, num_sampled_frames: int) -> float:
        """Seconds between two temporal grids, as the model's time positions take them."""
        return self.temporal_patch_size / self.effective_fps(duration_seconds, num_sampled_frames)

    def num_grids(self, num_sampled_frames: int) -> int:
        """Temporal grids of so many frames, the last one filled up by repeating the last frame."""
        return -(-num_sampled_frames // self.temporal_patch_size)

    def frame_size(self, height: int, width: int) -> tuple[int, int]:
        """(height, width) to scale a frame of this display size to.

        Both are multiples of `size_step`, their product lies within the pixel limits as far as
        such multiples allow, and the aspect ratio is kept as nearly. Raises ValueError for sides
        under 1 and for aspect ratios above 200.
        """
        if height < 1 or width < 1:
            raise ValueError(f"a frame has at least 1x1 pixel, got {height}x{width} (hxw)")
        ratio = max(height, width) / min(height, width)
        if ratio > MAX_ASPECT_RATIO:
            raise ValueError(
                f"aspect ratio {ratio:.1f} of {height}x{width} (hxw) pixels is above "
                f"{MAX_ASPECT_RATIO}; crop the video"
            )
        step = self.size_step
        rows, columns = round(height / step), round(width / step)
        num_pixels = rows * columns * step * step
        if num_pixels > self.max_pixels:
            shrink = math.sqrt((height * width) / self.max_pixels)
            rows = max(1, math.floor(height / shrink / step))
            columns = max(1, math.floor(width / shrink / step))
        elif num_pixels < self.min_pixels:
            grow = math.sqrt(self.min_pixels / (height * width))
            rows = math.ceil(height * grow / step)
            columns = math.ceil(width * grow / step)
        # No side is 0 in between: with min_pixels over 0 an empty product took the branch above.
        return rows * step, columns * step

    def grid_thw(
        self, duration_seconds: float, available_frames: int, height: int, width: int
    ) -> tuple[int, int, int]:
        """(temporal grids, patch rows, patch columns) of a video with this display size."""
        rows, columns = self.frame_size(height, width)
        num_grids = self.num_grids(self.num_frames(duration_seconds, available_frames))
        return num_grids, rows // self.patch_size, columns // self.patch_size

    def num_video_tokens(
        self, duration_seconds: float, available_frames: int, height: int, width: int
    ) -> int:
        """Exact number of video tokens in the prompt, without the two that mark start and end."""
        grids, rows, columns = self.grid_thw(duration_seconds, available_frames, height, width)
        return grids * rows * columns // self.merge_size**2
