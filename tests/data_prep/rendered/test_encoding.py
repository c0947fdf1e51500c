"""Encoding: what was drawn comes back, frame by frame, with its times; never half a file."""

import av
import numpy as np
import pytest

from data_prep.rendered.drawing import draw_frames
from data_prep.rendered.encoding import write_clip
from data_prep.rendered.plan import FRAME_RATE, plan_clip


def decode(path):
    """Stamps in seconds, frames (T, height, width, 3), and end of the last frame in seconds."""
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
    last = frames[-1]
    end_seconds = float((last.pts + last.duration) * last.time_base)
    pixels = np.stack([frame.to_ndarray(format="rgb24") for frame in frames])
    return [frame.time for frame in frames], pixels, end_seconds


@pytest.mark.parametrize("index", range(4))
def test_a_decoded_clip_has_the_promised_frames_times_and_duration(tmp_path, index):
    plan = plan_clip(0, "train", index)
    write_clip(tmp_path / "clip.mp4", draw_frames(plan), FRAME_RATE)
    stamps, pixels, end_seconds = decode(tmp_path / "clip.mp4")
    assert len(pixels) == plan.num_frames
    assert stamps == pytest.approx([number / 10 for number in range(plan.num_frames)], abs=1e-9)
    assert end_seconds == pytest.approx(plan.duration_seconds, abs=1e-9)


def test_the_file_is_h264_in_420_with_the_same_numbers_in_its_header(tmp_path):
    plan = plan_clip(0, "dev", 0)
    write_clip(tmp_path / "clip.mp4", draw_frames(plan), FRAME_RATE)
    with av.open(str(tmp_path / "clip.mp4")) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert (stream.width, stream.height, stream.average_rate) == (56, 56, 10)
        assert stream.frames == plan.num_frames
        assert float(stream.duration * stream.time_base) == pytest.approx(plan.duration_seconds)


def test_the_picture_survives_the_encoder(tmp_path):
    frames = draw_frames(plan_clip(0, "train", 0))
    write_clip(tmp_path / "clip.mp4", frames, FRAME_RATE)
    _, pixels, _ = decode(tmp_path / "clip.mp4")
    error = np.abs(pixels.astype(float) - frames.astype(float))
    assert error.mean() < 12.0  # noise of 7 in each channel goes through 4:2:0 chroma
    coarse_error = np.abs(pixels.mean(axis=(1, 2)) - frames.mean(axis=(1, 2)))
    assert coarse_error.max() < 6.0


def test_the_same_frames_give_the_same_bytes(tmp_path):
    frames = draw_frames(plan_clip(0, "train", 1))
    write_clip(tmp_path / "a.mp4", frames, FRAME_RATE)
    write_clip(tmp_path / "b.mp4", frames, FRAME_RATE)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_frames_that_cannot_be_encoded_leave_no_file(tmp_path):
    odd_sides = np.zeros((4, 55, 55, 3), dtype=np.uint8)
    with pytest.raises(av.FFmpegError):
        write_clip(tmp_path / "clip.mp4", odd_sides, FRAME_RATE)
    assert list(tmp_path.iterdir()) == []
