"""What a video really is and costs under a budget, by decoding all of it as training will.

What it returns is small: the frames are made and left behind.

Example: `reader.call(measure_video, path, budget).num_video_tokens`
"""

from dataclasses import dataclass

from affect.video.budget import FrameBudget
from affect.video.open import VideoPath
from affect.video.sample import sample_and_probe


@dataclass(frozen=True, slots=True)
class MeasuredVideo:
    """num_frames: that decode. num_corrupt_frames: of them, patched by the decoder after damage.
    num_sampled_frames, num_video_tokens: under the budget."""

    duration_seconds: float
    width: int
    height: int
    num_frames: int
    num_corrupt_frames: int
    num_sampled_frames: int
    num_video_tokens: int


def measure_video(path: VideoPath, budget: FrameBudget) -> MeasuredVideo:
    """Decode and sample the file. Raises VideoError as `sample_video` does."""
    clip, info = sample_and_probe(path, budget)
    num_frames, height, width = clip.frames.shape[:3]
    num_grids = num_frames // budget.temporal_patch_size
    return MeasuredVideo(
        duration_seconds=clip.duration_seconds,
        width=info.width,
        height=info.height,
        num_frames=info.num_frames,
        num_corrupt_frames=info.num_corrupt_frames,
        num_sampled_frames=clip.num_sampled_frames,
        num_video_tokens=num_grids * (height // budget.size_step) * (width // budget.size_step),
    )
