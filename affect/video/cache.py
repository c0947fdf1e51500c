"""Sampled clips kept in memory across epochs, up to a number of bytes.

A default clip takes at most 18 MB; a tiny 56x56 one of 8 frames takes 75 kB.

Example:
    cache = ClipCache(max_bytes=2 * 10**9)
    cache.get("clip.mp4", budget); cache.get("clip.mp4", budget)
    cache.num_decodes     # 1
    ClipCache(max_bytes, GuardedReader(120.0).sample)     # decodes in a process of its own
"""

import os
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from threading import Lock

from affect.video.budget import FrameBudget
from affect.video.open import VideoPath, require_file
from affect.video.sample import SampledVideo, sample_video

_Key = tuple[str, int, int, FrameBudget]


class ClipCache:
    """Least recently used clips go first. Safe to share between threads; two threads that ask for
    the same clip at once decode it once.

    A file that changes (size or modification time) is decoded again. Failures are not kept: the
    next call tries again.

    sample: what decodes; `sample_video` or a guarded reader's `sample`.
    num_decodes: how many times it was called, failures included.
    num_bytes: pixels held now, never above max_bytes.
    """

    def __init__(
        self,
        max_bytes: int,
        sample: Callable[[VideoPath, FrameBudget], SampledVideo] = sample_video,
    ) -> None:
        if max_bytes < 0:
            raise ValueError(f"max_bytes must be 0 (keep nothing) or more, got {max_bytes}")
        self.max_bytes = max_bytes
        self._sample = sample
        self.num_decodes = 0
        self.num_bytes = 0
        self._clips: OrderedDict[_Key, SampledVideo] = OrderedDict()
        self._running: dict[_Key, Future[SampledVideo]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._clips)

    def get(self, path: VideoPath, budget: FrameBudget) -> SampledVideo:
        """`sample_video(path, budget)`, from memory where possible.

        Each caller gets frames of its own to change. Raises VideoError as `sample_video` does.
        """
        key = _key(path, budget)
        with self._lock:
            clip = self._clips.get(key)
            running = self._running.get(key)
            if clip is not None:
                self._clips.move_to_end(key)
            elif running is None:
                self._running[key] = decoding = Future[SampledVideo]()
                self.num_decodes += 1
        if clip is None:
            clip = running.result() if running else self._decode(key, path, budget, decoding)
        return replace(clip, frames=clip.frames.copy())

    def _decode(
        self, key: _Key, path: VideoPath, budget: FrameBudget, decoding: "Future[SampledVideo]"
    ) -> SampledVideo:
        try:
            clip = self._sample(path, budget)
        except BaseException as error:  # Waiting threads get it too, whatever it is.
            with self._lock:
                del self._running[key]
            decoding.set_exception(error)
            raise
        with self._lock:
            del self._running[key]
            self._keep(key, clip)
        decoding.set_result(clip)
        return clip

    def _keep(self, key: _Key, clip: SampledVideo) -> None:
        if clip.frames.nbytes > self.max_bytes:
            return
        self._clips[key] = clip
        self.num_bytes += clip.frames.nbytes
        while self.num_bytes > self.max_bytes:
            _, oldest = self._clips.popitem(last=False)
            self.num_bytes -= oldest.frames.nbytes


def _key(path: VideoPath, budget: FrameBudget) -> _Key:
    state = require_file(path)
    return os.path.abspath(path), state.st_size, state.st_mtime_ns, budget
