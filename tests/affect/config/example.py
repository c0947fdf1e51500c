"""A small run configuration with every kind of field, for the tests of this folder.

Example: `load_config(Run, path, {"video.fps": 1.0})`.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from affect.config import Section


class Video(Section):
    """Which frames the model sees."""

    fps: float = Field(2.0, gt=0, description="Frames per second to sample.")
    min_frames: int = Field(4, description="At least so many frames.")
    max_frames: int = Field(30, description="At most so many frames.")
    sizes: tuple[int, ...] = (1, 2)
    """Frame sizes, described below the field instead of in it."""

    @model_validator(mode="after")
    def _bounds(self) -> "Video":
        if self.min_frames > self.max_frames:
            raise ValueError("min_frames is above max_frames")
        return self


class Run(Section):
    """A run."""

    run_dir: Path = Field(description="Folder that receives everything the run writes.")
    mode: Literal["keep", "drop"] = Field("keep", description="What to do.")
    note: str | None = Field(None, description="Anything.")
    ratio: float = Field(0.5, description="A share from 0 to 1.")
    video: Video = Field(Video(fps=1.0), description="Which frames, here at 1 fps.")
    warm: Video | None = Field(None, description="A section that may be absent.")
    trainer: dict[str, Any] = Field({"max_steps": 5}, description="Passed on unchanged.")
