"""The frames of a video that a model is shown, with their times.

Example:
    clip = sample_video("clip.mp4", FrameBudget())    # 5.28 s, 132 frames of 320x180
    clip.frames.shape                 # (10, 168, 308, 3), uint8 RGB
    clip.times_seconds                # (0.0, 0.6, 1.16, ... 5.24): the first and last frame's too
    clip.second_per_grid_seconds      # 2 / (10 / 5.28) = 1.056
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from fractions import Fraction

import av
import numpy as np
import numpy.typing as npt
from av.video.reformatter import Interpolation, VideoReformatter

from affect.video.budget import FrameBudget
from affect.video.decode import DecodePass, is_dts_only
from affect.video.open import VideoError, VideoPath, ffmpeg_reason, open_video
from affect.video.probe import VideoInfo, describe
from affect.video.timing import Timing

# The flags give the same pixels whatever vector instructions a machine has, and full chroma.
_SCALING = (
    Interpolation.BICUBIC
    | Interpolation.ACCURATE_RND
    | Interpolation.BITEXACT
    | Interpolation.FULL_CHR_H_INT
)


@dataclass(frozen=True, slots=True, eq=False)
class SampledVideo:
    """Frames of one video under one budget.

    frames: (T, h, w, 3) uint8 RGB, upright; T is num_sampled_frames rounded up to a multiple of
        the temporal patch size by repeating the last frame.
    times_seconds: when each sampled frame is shown, after the first; num_sampled_frames of them.
    duration_seconds: of the whole picture.
    effective_fps: num_sampled_frames / duration_seconds.
    second_per_grid_seconds: temporal patch size / effective_fps.
    """

    frames: npt.NDArray[np.uint8] = field(repr=False)
    times_seconds: tuple[float, ...]
    duration_seconds: float
    num_sampled_frames: int
    effective_fps: float
    second_per_grid_seconds: float


def sample_video(path: VideoPath, budget: FrameBudget) -> SampledVideo:
    """Take the frames nearest to instants that lie evenly from the first to the last stamp.

    All of the file is decoded, so that a damaged one is refused however few frames are wanted; one
    resized copy of each wanted frame is held. The packets' stamps tell beforehand which frames
    these are; should decoding show other stamps (hidden frames), a second pass takes the right
    ones. The result depends on nothing but file and budget.

    Raises VideoError with the path and the reason, also for an aspect ratio above 200.
    """
    return sample_and_probe(path, budget)[0]


def sample_and_probe(path: VideoPath, budget: FrameBudget) -> tuple[SampledVideo, VideoInfo]:
    """`sample_video` and `probe_video` of a file, from the same decode."""
    wanted = _wanted_stamps(packet_timing(path), budget)
    decode, taken = _take(path, wanted, budget)
    timing = decode.timing
    chosen = timing.nearest_frames(_num_frames(timing, budget))
    stamps = [timing.stamps_ticks[frame] for frame in chosen]
    if not taken.keys() >= set(stamps):
        decode, taken = _take(path, set(stamps), budget)
    padding = budget.num_grids(len(stamps)) * budget.temporal_patch_size - len(stamps)
    duration_seconds = float(timing.duration)
    clip = SampledVideo(
        frames=np.stack([taken[stamp] for stamp in stamps + stamps[-1:] * padding]),
        times_seconds=tuple(timing.seconds(frame) for frame in chosen),
        duration_seconds=duration_seconds,
        num_sampled_frames=len(stamps),
        effective_fps=budget.effective_fps(duration_seconds, len(stamps)),
        second_per_grid_seconds=budget.second_per_grid_seconds(duration_seconds, len(stamps)),
    )
    return clip, describe(decode)


def _num_frames(timing: Timing, budget: FrameBudget) -> int:
    return budget.num_frames(float(timing.duration), timing.num_frames)


def _wanted_stamps(timing: Timing | None, budget: FrameBudget) -> set[int]:
    if timing is None:
        return set()
    chosen = timing.nearest_frames(_num_frames(timing, budget))
    return {timing.stamps_ticks[frame] for frame in chosen}


def packet_timing(path: VideoPath) -> Timing | None:
    """The stamps that the frames will most likely have, without decoding any; None if the packets
    do not tell. Only a forecast: nothing in the result rests on it."""
    with open_video(path) as (container, stream):
        stamps, length_ticks = [], 0
        try:
            for packet in container.demux(stream):
                stamp = packet.dts if is_dts_only(container) else packet.pts
                if stamp is not None and packet.size and not packet.is_discard:
                    stamps.append(stamp)
                    length_ticks = packet.duration or 0
            assert stream.time_base is not None, "an opened stream has a time base"
            only_frame_seconds = length_ticks * stream.time_base or Fraction(1, 25)
            return Timing.from_stamps(stamps, stream.time_base, only_frame_seconds)
        except (av.FFmpegError, ValueError):
            return None  # The decode pass meets the same fault and reports it.


def _take(
    path: VideoPath, wanted: Collection[int], budget: FrameBudget
) -> tuple[DecodePass, dict[int, npt.NDArray[np.uint8]]]:
    """Decode all of the file, keeping upright resized copies of the frames with a wanted stamp."""
    decode = DecodePass(path)
    scaler = VideoReformatter()
    taken: dict[int, npt.NDArray[np.uint8]] = {}
    for stamp, frame in decode:
        if stamp in wanted and stamp not in taken:
            taken[stamp] = _upright_rgb(decode, frame, scaler, budget)
    return decode, taken


def _upright_rgb(
    decode: DecodePass, frame: av.VideoFrame, scaler: VideoReformatter, budget: FrameBudget
) -> npt.NDArray[np.uint8]:
    """(h, w, 3). Scaled before it is turned: the small picture is the cheaper one to turn."""
    quarter_turns = decode.rotation_degrees // 90
    try:
        if quarter_turns % 2:
            width, height = budget.frame_size(decode.stored_width, decode.stored_height)
        else:
            height, width = budget.frame_size(decode.stored_height, decode.stored_width)
    except ValueError as error:
        raise VideoError(decode.path, str(error)) from error
    try:
        scaled = scaler.reformat(
            frame, width=width, height=height, format="rgb24", interpolation=_SCALING, threads=1
        )
    except av.FFmpegError as error:
        raise VideoError(
            decode.path, f"its {frame.format.name} pixels do not convert: {ffmpeg_reason(error)}"
        ) from error
    pixels: npt.NDArray[np.uint8] = np.rot90(scaled.to_ndarray(), quarter_turns)
    return np.ascontiguousarray(pixels)
