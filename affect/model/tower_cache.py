"""Tower features of clips on disk, for later epochs and runs with the same frozen tower.

One safetensors file per clip, named by a digest of the video's content and of all that its features
hang on (`tower_identity`). It also holds what a prompt needs of the clip, so a clip that is here is
neither decoded nor cut into patches. Several processes may use one folder: files appear whole, and
one that vanished, was cut or changed is a miss, never an error and never other features.

Example:
    cache = TowerCache(Path("cache/tower"), max_bytes=20 * 10**9, identity=tower_identity(...))
    cache.get(Path("clip.mp4"))                     # None
    key = cache.key(Path("clip.mp4"))               # before it is decoded
    cache.put(Path("clip.mp4"), key, StoredClip(features, (15, 12, 22), 1.056, 5.28))
    cache.get(Path("clip.mp4")).features
"""

import hashlib
import json
import os
import re
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_safetensors
from safetensors.torch import save as to_safetensors
from torch import Tensor

from affect.atomic import write_bytes_atomic

_FORMAT = "1"
_SUFFIX = ".safetensors"
_KEY = re.compile(r"[0-9a-f]{64}")

# A temporary file of a process that was killed is removed after so long.
_LEFT_OVER_SECONDS = 3600.0


@dataclass(frozen=True)
class StoredClip:
    """A clip as the model needs it.

    features: (num_patches, tower hidden size), patches in the processor's order.
    grid_thw: temporal, height and width patches.
    second_per_grid: seconds of one temporal grid. duration_seconds: of the whole picture.
    """

    features: Tensor
    grid_thw: tuple[int, int, int]
    second_per_grid: float
    duration_seconds: float


@dataclass(frozen=True)
class UnstoredClip:
    """A clip that was looked for and not found: where its features belong.

    key: made before the video was decoded. duration_seconds: of the whole picture.
    """

    video: Path
    key: str
    duration_seconds: float


class TowerCache:
    """Least recently used files go first once `max_bytes` are reached.

    num_hits, num_misses: what this process looked for. num_corrupt: misses for a damaged file.
    """

    def __init__(self, folder: Path, max_bytes: int, identity: str) -> None:
        """Make the folder.

        Raises:
            ValueError: it can't be made or written to.
        """
        self.folder, self.max_bytes, self.identity = folder, max_bytes, identity
        self.num_hits = self.num_misses = self.num_corrupt = 0
        # Here, since it loads a video decoder, which a model alone does not need.
        from affect.video.content_hash import ContentHashes

        self._hashes = ContentHashes()
        self._is_writing = True
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"the tower cache {folder} can't be made: {error}") from error
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ValueError(f"the tower cache {folder} can't be written to; choose another folder")

    def key(self, video: Path) -> str:
        """Name of the video's entry: 64 hex digits, whatever the video is called.

        Raises:
            VideoError: no such file.
        """
        named = f"{_FORMAT}\n{self.identity}\n{self._hashes.get(video)}"
        return hashlib.sha256(named.encode()).hexdigest()

    def get(self, video: Path) -> StoredClip | None:
        """The video's features, if they are here.

        Raises:
            VideoError: no such video file.
        """
        key = self.key(video)
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:  # most often not there; else as good as not there
            self.num_misses += 1
            return None
        clip = _parse(data, key)
        if clip is None:
            self.num_misses += 1
            self.num_corrupt += 1
            _remove(path)
            return None
        self.num_hits += 1
        _mark_as_used(path)
        return clip

    def put(self, video: Path, key: str, clip: StoredClip) -> None:
        """Keep a clip's features, unless the video is no longer what `key` was made from.

        A full or broken disk ends the writing with one warning, not the run.
        """
        if not self._is_writing or self.key(video) != key:
            return
        data = _serialise(clip, key)
        if len(data) > self.max_bytes:
            return
        try:
            self._make_room(len(data))
            write_bytes_atomic(self._path(key), data)
        except OSError as error:
            self._is_writing = False
            warnings.warn(
                f"the tower cache {self.folder} can't be written to ({error}); going on without "
                "adding to it",
                stacklevel=2,
            )

    def num_bytes(self) -> int:
        """Bytes of all entries, those of other towers too."""
        return sum(size for _, size, _ in self._entries())

    def _path(self, key: str) -> Path:
        assert _KEY.fullmatch(key), key
        return self.folder / (key + _SUFFIX)

    def _entries(self) -> list[tuple[int, int, Path]]:
        """(last use in ns, bytes, path) of what is there; old left-overs are removed."""
        entries = []
        with os.scandir(self.folder) as found:
            for item in found:
                is_entry = item.name.endswith(_SUFFIX) and not item.name.startswith(".")
                is_left_over = item.name.startswith(".") and item.name.endswith(".tmp")
                if not (is_entry or is_left_over):
                    continue  # nobody's business
                try:
                    state = item.stat(follow_symlinks=False)
                except FileNotFoundError:  # another process removed it
                    continue
                if is_entry:
                    entries.append((state.st_mtime_ns, state.st_size, Path(item.path)))
                elif time.time() - state.st_mtime > _LEFT_OVER_SECONDS:
                    _remove(Path(item.path))
        return entries

    def _make_room(self, num_bytes: int) -> None:
        entries = self._entries()
        too_many = sum(size for _, size, _ in entries) + num_bytes - self.max_bytes
        for _, size, path in sorted(entries):
            if too_many <= 0:
                break
            _remove(path)
            too_many -= size


def _serialise(clip: StoredClip, key: str) -> bytes:
    features = clip.features.detach().cpu().contiguous()
    facts = {
        "key": key,
        "grid_thw": list(clip.grid_thw),
        "second_per_grid": clip.second_per_grid,
        "duration_seconds": clip.duration_seconds,
    }
    text = json.dumps(facts)
    metadata = {"facts": text, "sha256": _digest(text, features)}
    return to_safetensors({"features": features}, metadata)


def _parse(data: bytes, key: str) -> StoredClip | None:
    """The clip of a file's bytes; None for anything but what was once written under this key."""
    try:
        tensors = load_safetensors(data)
        # Read after the library has checked that the header is whole.
        header_length = int.from_bytes(data[:8], "little")
        metadata = json.loads(data[8 : 8 + header_length])["__metadata__"]
        features, text = tensors["features"], metadata["facts"]
        if metadata["sha256"] != _digest(text, features):
            return None
        facts: dict[str, Any] = json.loads(text)
        if facts["key"] != key:
            return None
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    num_t, num_h, num_w = facts["grid_thw"]
    return StoredClip(
        features, (num_t, num_h, num_w), facts["second_per_grid"], facts["duration_seconds"]
    )


def _digest(text: str, features: Tensor) -> str:
    digest = hashlib.sha256(f"{text}\n{features.dtype}\n{tuple(features.shape)}\n".encode())
    values: Any = features.contiguous().view(-1).view(torch.uint8).numpy()
    digest.update(values)
    return digest.hexdigest()


def _mark_as_used(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:  # removed meanwhile, or another user's: it then looks older than it is
        return


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:  # another user's file in a shared folder: it stays
        warnings.warn(f"{path} can't be removed ({error})", stacklevel=2)
