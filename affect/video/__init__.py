"""Reading video: exact time, whole decodes, and frames under one budget.

Example:
    info = probe_video("clip.mp4")                     # 132 frames, 5.28 s, 320x180
    clip = sample_video("clip.mp4", FrameBudget())     # 10 frames of 168x308 (hxw)
    clip.frames.shape, clip.second_per_grid_seconds    # (10, 168, 308, 3), 1.056
"""

from affect.video.budget import FrameBudget
from affect.video.cache import ClipCache
from affect.video.decode import DecodePass
from affect.video.guarded import DECODE_TIMEOUT_SECONDS, GuardedReader
from affect.video.open import VideoError
from affect.video.probe import VideoInfo, probe_video
from affect.video.quarantine import Quarantine
from affect.video.sample import SampledVideo, sample_video

__all__ = [
    "DECODE_TIMEOUT_SECONDS",
    "ClipCache",
    "DecodePass",
    "FrameBudget",
    "GuardedReader",
    "Quarantine",
    "SampledVideo",
    "VideoError",
    "VideoInfo",
    "probe_video",
    "sample_video",
]
