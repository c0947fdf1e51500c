"""What stages are tried on: a clip's pack of plain pictures, and the record of its decode.

clip = plain_clip(tmp_path, duration_seconds=8.0)      # four pictures a second
looked = looked_at(8.0, cut_times=(3.0,))
"""

import io
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from affect.llm.chat import Frame
from data_prep.clip import Clip, write_pack
from data_prep.records import Cut, Looked, Motion

SHA256 = "ab" * 32
FRAMES_PER_SECOND = 4


def plain_clip(folder: Path, duration_seconds: float) -> Clip:
    """Pictures of one colour each, getting brighter."""
    num_frames = max(1, round(duration_seconds * FRAMES_PER_SECOND))
    frames = []
    for number in range(num_frames):
        buffer = io.BytesIO()
        level = 255 * number // num_frames
        Image.new("RGB", (32, 24), (level, level, level)).save(buffer, "JPEG")
        frames.append(Frame(number / FRAMES_PER_SECOND, buffer.getvalue()))
    pack = folder / "frames.zip"
    write_pack(pack, frames)
    return Clip(folder / "clip.mp4", SHA256, "video/mp4", pack)


def looked_at(
    duration_seconds: float, cut_times: Sequence[float] = (), fade_times: Sequence[float] = ()
) -> Looked:
    cuts = [Cut(time_seconds=time, kind="cut") for time in cut_times]
    cuts += [Cut(time_seconds=time, kind="fade") for time in fade_times]
    return Looked(
        num_frames=round(duration_seconds * 30),
        duration_seconds=duration_seconds,
        width=320,
        height=240,
        codec="h264",
        mime_type="video/mp4",
        perceptual_hash="0" * 16,
        motion=Motion(mean_hash_distance=10.0, mean_flow_pixels=1.0, still_share=0.1),
        cuts=tuple(sorted(cuts, key=lambda cut: cut.time_seconds)),
        frame_times_seconds=(0.0,),
        num_decode_passes=1,
    )
