"""Damaged bytes either decode or are refused with a reason; nothing else escapes.

an mp4 with any bytes overwritten, cut out or set to 0xffffffff -> SampledVideo or VideoError
"""

import random
from pathlib import Path

import numpy as np
import pytest

from affect.video import FrameBudget, VideoError, sample_video
from tests.affect.video.clips import remux, write_clip

TINY = FrameBudget(min_pixels=3136, max_pixels=3136)
NUM_DAMAGED = 60


@pytest.mark.parametrize("name", ["a.mp4", "fragments.mp4", "a.mkv", "a.webm", "a.avi", "a.ts"])
def test_damaged_bytes(tmp_path: Path, name: str) -> None:
    codec = {"webm": "libvpx-vp9", "avi": "mpeg4"}.get(name[2:], "libx264")
    whole = tmp_path / name
    if name == "fragments.mp4":
        plain = write_clip(tmp_path / "plain.mp4", 31)
        remux(plain, whole, movflags="empty_moov+frag_keyframe")
    else:
        write_clip(whole, 31, codec=codec)
    source = whole.read_bytes()
    chance = random.Random(name)
    damaged = tmp_path / f"damaged{whole.suffix}"
    outcomes = set()
    for _ in range(NUM_DAMAGED):
        damaged.write_bytes(_damage(source, chance))
        try:
            clip = sample_video(damaged, TINY)
        except VideoError as error:
            assert error.path == damaged and error.reason
            outcomes.add("refused")
        else:
            assert np.isfinite(clip.duration_seconds) and clip.duration_seconds > 0
            assert clip.num_sampled_frames == len(clip.times_seconds) <= TINY.max_frames
            assert clip.times_seconds == tuple(sorted(clip.times_seconds))
            outcomes.add("read")
    assert outcomes == {"refused", "read"}


def _damage(source: bytes, chance: random.Random) -> bytes:
    data = bytearray(source)
    for _ in range(chance.choice([1, 2, 5, 20])):
        place = chance.randrange(min(len(data), chance.choice([64, 1000, 10**6])))
        kind = chance.choice(["byte", "cut", "number"])
        if kind == "byte":
            data[place] = chance.randrange(256)
        elif kind == "cut":
            del data[place : place + chance.randrange(1, 8)]
        else:
            data[place : place + 4] = chance.choice([b"\0\0\0\0", b"\xff" * 4, b"\x7f\xff\xff\xff"])
    return bytes(data)
