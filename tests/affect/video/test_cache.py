"""Clips come from memory the second time, within a bound, for any number of threads.

cache.get(path, budget) twice -> cache.num_decodes == 1
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from affect.video import ClipCache, FrameBudget, VideoError, sample_video
from tests.affect.video.clips import write_clip

TINY = FrameBudget(min_pixels=3136, max_pixels=3136)
CLIP_BYTES = 4 * 56 * 56 * 3
"""31 frames of 56x56 under TINY: 4 sampled."""


def _clip(folder: Path, name: str) -> Path:
    return write_clip(folder / name, 31, size=(56, 56))


def test_the_second_call_decodes_nothing(tmp_path: Path) -> None:
    path = _clip(tmp_path, "a.mp4")
    cache = ClipCache(10 * CLIP_BYTES)
    first, second = cache.get(path, TINY), cache.get(str(path), TINY)
    assert cache.num_decodes == len(cache) == 1
    assert cache.num_bytes == CLIP_BYTES
    direct = sample_video(path, TINY)
    for clip in (first, second):
        assert np.array_equal(clip.frames, direct.frames)
        assert clip.times_seconds == direct.times_seconds


def test_a_changed_copy_does_not_reach_the_cache(tmp_path: Path) -> None:
    path = _clip(tmp_path, "a.mp4")
    cache = ClipCache(10 * CLIP_BYTES)
    cache.get(path, TINY).frames[:] = 255
    changed = cache.get(path, TINY).frames
    assert changed.max() < 255
    changed[:] = 255
    assert cache.get(path, TINY).frames.max() < 255


def test_another_budget_or_another_file_is_another_clip(tmp_path: Path) -> None:
    path = _clip(tmp_path, "a.mp4")
    cache = ClipCache(10 * CLIP_BYTES)
    cache.get(path, TINY)
    cache.get(path, FrameBudget(min_pixels=3136, max_pixels=3136, max_frames=4, fps=1.0))
    assert cache.num_decodes == 2
    os.utime(path, ns=(0, 0))
    cache.get(path, TINY)
    assert cache.num_decodes == 3


def test_the_least_recently_used_clip_goes_first(tmp_path: Path) -> None:
    a, b, c = (_clip(tmp_path, name) for name in ("a.mp4", "b.mp4", "c.mp4"))
    cache = ClipCache(2 * CLIP_BYTES)
    for path in (a, b, a, c):  # c pushes b out
        cache.get(path, TINY)
    assert (cache.num_decodes, cache.num_bytes, len(cache)) == (3, 2 * CLIP_BYTES, 2)
    cache.get(a, TINY)
    cache.get(c, TINY)
    assert cache.num_decodes == 3
    cache.get(b, TINY)
    assert cache.num_decodes == 4


@pytest.mark.parametrize("max_bytes", [0, CLIP_BYTES - 1])
def test_a_clip_larger_than_the_cache_is_not_kept(tmp_path: Path, max_bytes: int) -> None:
    path = _clip(tmp_path, "a.mp4")
    cache = ClipCache(max_bytes)
    cache.get(path, TINY)
    cache.get(path, TINY)
    assert (cache.num_decodes, cache.num_bytes) == (2, 0)


def test_a_negative_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="max_bytes must be 0"):
        ClipCache(-1)


def test_failures_are_raised_each_time_and_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "bad.mp4"
    path.write_bytes(b"nothing")
    cache = ClipCache(10 * CLIP_BYTES)
    for _ in range(2):
        with pytest.raises(VideoError, match=r"bad\.mp4"):
            cache.get(path, TINY)
    assert (cache.num_decodes, len(cache)) == (2, 0)
    with pytest.raises(VideoError, match="No such file"):
        cache.get(tmp_path / "absent.mp4", TINY)


def test_threads_that_ask_at_once_decode_once(tmp_path: Path) -> None:
    path, bad = _clip(tmp_path, "a.mp4"), tmp_path / "bad.mp4"
    bad.write_bytes(b"nothing")
    cache = ClipCache(10 * CLIP_BYTES)
    start = threading.Barrier(8)

    def ask(number: int) -> float:
        start.wait()
        return float(cache.get(path, TINY).frames.mean())

    with ThreadPoolExecutor(8) as pool:
        means = list(pool.map(ask, range(8)))
    assert len(set(means)) == 1
    assert cache.num_decodes == 1


def test_many_threads_and_a_small_cache_keep_the_count_of_bytes(tmp_path: Path) -> None:
    paths = [_clip(tmp_path, f"{i}.mp4") for i in range(4)]
    cache = ClipCache(2 * CLIP_BYTES)
    with ThreadPoolExecutor(4) as pool:
        clips = list(pool.map(lambda i: cache.get(paths[i % 4], TINY), range(40)))
    assert all(clip.frames.nbytes == CLIP_BYTES for clip in clips)
    assert cache.num_bytes == len(cache) * CLIP_BYTES <= cache.max_bytes
