"""Features on disk: the same ones or none, within their room, whoever else uses the folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from affect.model.tower_cache import StoredClip, TowerCache, _parse, _serialise
from affect.video import VideoError

KEY = "0123456789abcdef" * 4


def drawn_clip(
    seed: int = 0, num_patches: int = 8, dtype: torch.dtype = torch.float32
) -> StoredClip:
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(num_patches, 16, generator=generator).to(dtype)
    return StoredClip(features, (2, 2, 2), 1.0 / 3.0, 5.28)


def videos(folder: Path, number: int) -> list[Path]:
    """Files that differ in content; nothing here decodes them."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{index}.mp4" for index in range(number)]
    for path in paths:
        path.write_bytes(path.name.encode())
    return paths


def is_same(found: StoredClip | None, expected: StoredClip) -> bool:
    return (
        found is not None
        and found.features.dtype == expected.features.dtype
        and torch.equal(found.features, expected.features)
        and (found.grid_thw, found.second_per_grid, found.duration_seconds)
        == (expected.grid_thw, expected.second_per_grid, expected.duration_seconds)
    )


def size_of_one(num_patches: int = 8) -> int:
    return len(_serialise(drawn_clip(num_patches=num_patches), KEY))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_what_was_put_is_found_by_another_process_too(dtype: torch.dtype, tmp_path: Path) -> None:
    [video] = videos(tmp_path, 1)
    cache = TowerCache(tmp_path / "deep" / "cache", 10**6, "tower")
    assert cache.get(video) is None
    cache.put(video, cache.key(video), drawn_clip(dtype=dtype))
    assert is_same(cache.get(video), drawn_clip(dtype=dtype))
    assert is_same(TowerCache(cache.folder, 10**6, "tower").get(video), drawn_clip(dtype=dtype))
    assert (cache.num_hits, cache.num_misses, cache.num_corrupt) == (1, 1, 0)


def test_another_tower_or_another_content_is_a_miss(tmp_path: Path) -> None:
    first, second = videos(tmp_path, 2)
    cache = TowerCache(tmp_path / "cache", 10**6, "tower")
    cache.put(first, cache.key(first), drawn_clip())
    assert TowerCache(cache.folder, 10**6, "another").get(first) is None
    assert cache.get(second) is None
    second.write_bytes(first.read_bytes())
    os.utime(second, ns=(1, 1))
    assert is_same(cache.get(second), drawn_clip())  # a copy of the first


def test_a_video_that_changes_while_it_is_decoded_is_not_kept(tmp_path: Path) -> None:
    [video] = videos(tmp_path, 1)
    cache = TowerCache(tmp_path / "cache", 10**6, "tower")
    key = cache.key(video)
    video.write_bytes(b"another clip")
    cache.put(video, key, drawn_clip())
    assert cache.num_bytes() == 0 and cache.get(video) is None


def test_names_are_digests_whatever_the_video_is_called(tmp_path: Path) -> None:
    video = tmp_path / "..%2f..;\n$(x).mp4"
    video.write_bytes(b"x")
    cache = TowerCache(tmp_path / "cache", 10**6, "../../elsewhere/")
    cache.put(video, cache.key(video), drawn_clip())
    [entry] = cache.folder.iterdir()
    assert entry.suffix == ".safetensors" and set(entry.stem) <= set("0123456789abcdef")
    assert len(entry.stem) == 64
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["cache", video.name])
    with pytest.raises(AssertionError):
        cache._path("../" + "0" * 61)


def test_a_missing_video_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"none\.mp4"):
        TowerCache(tmp_path / "cache", 10**6, "tower").get(tmp_path / "none.mp4")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="can't be made"):
        TowerCache(tmp_path / "file" / "cache", 10**6, "tower")


# --- damage ---------------------------------------------------------------------------------------

DATA = _serialise(drawn_clip(), KEY)


def test_every_cut_is_a_miss() -> None:
    assert is_same(_parse(DATA, KEY), drawn_clip())
    assert all(_parse(DATA[:length], KEY) is None for length in range(len(DATA)))
    assert _parse(DATA + b"\0", KEY) is None
    assert _parse(bytes(len(DATA)), KEY) is None


def test_every_changed_byte_is_a_miss_or_changes_nothing() -> None:
    """Padding of the header and the order of its keys carry nothing."""
    for place in range(len(DATA)):
        for change in (1, 0x80):
            broken = bytearray(DATA)
            broken[place] ^= change
            found = _parse(bytes(broken), KEY)
            assert found is None or is_same(found, drawn_clip()), place
    assert _parse(DATA, "f" * 64) is None  # another clip's file under this name


@given(st.binary(max_size=200))
def test_any_bytes_are_a_miss(data: bytes) -> None:
    assert _parse(data, KEY) is None
    assert _parse(len(data).to_bytes(8, "little") + data, KEY) is None


def test_a_damaged_file_is_removed_and_made_anew(tmp_path: Path) -> None:
    [video] = videos(tmp_path, 1)
    cache = TowerCache(tmp_path / "cache", 10**6, "tower")
    cache.put(video, cache.key(video), drawn_clip())
    [entry] = cache.folder.iterdir()
    entry.write_bytes(entry.read_bytes()[:-3])
    assert cache.get(video) is None and cache.num_corrupt == 1
    assert list(cache.folder.iterdir()) == []
    cache.put(video, cache.key(video), drawn_clip())
    assert is_same(cache.get(video), drawn_clip())


@pytest.mark.parametrize("kind", ["folder", "loop"])
def test_what_is_no_file_is_a_miss(kind: str, tmp_path: Path) -> None:
    [video] = videos(tmp_path, 1)
    cache = TowerCache(tmp_path / "cache", 10**6, "tower")
    path = cache._path(cache.key(video))
    path.mkdir() if kind == "folder" else path.symlink_to(path)
    assert cache.get(video) is None


def test_a_full_disk_ends_the_writing_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = videos(tmp_path, 2)
    cache = TowerCache(tmp_path / "cache", 10**6, "tower")
    cache.put(first, cache.key(first), drawn_clip())

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(UserWarning, match="No space left on device"):
        cache.put(second, cache.key(second), drawn_clip(1))
    cache.put(second, cache.key(second), drawn_clip(1))  # no second warning, which would raise
    assert is_same(cache.get(first), drawn_clip()) and cache.get(second) is None
    assert len(list(cache.folder.iterdir())) == 1


# --- room -----------------------------------------------------------------------------------------


def test_the_least_recently_used_leave_first(tmp_path: Path) -> None:
    paths = videos(tmp_path, 5)
    cache = TowerCache(tmp_path / "cache", 3 * size_of_one(), "tower")
    for seconds, path in enumerate(paths[:3]):
        cache.put(path, cache.key(path), drawn_clip())
        os.utime(cache._path(cache.key(path)), (seconds, seconds))
    assert cache.get(paths[0]) is not None  # so the second is now the oldest
    cache.put(paths[3], cache.key(paths[3]), drawn_clip())
    assert [cache.get(path) is not None for path in paths] == [True, False, True, True, False]
    assert cache.num_bytes() == 3 * size_of_one()


def test_the_room_is_never_exceeded_and_what_is_larger_is_not_kept(tmp_path: Path) -> None:
    paths = videos(tmp_path, 12)
    cache = TowerCache(tmp_path / "cache", 4 * size_of_one(8), "tower")
    for index, path in enumerate(paths):
        cache.put(path, cache.key(path), drawn_clip(num_patches=(8, 3, 20, 1)[index % 4]))
        assert cache.num_bytes() <= cache.max_bytes
    large = drawn_clip(num_patches=500)
    cache.put(paths[0], cache.key(paths[0]), large)
    assert cache.num_bytes() > 0 and not is_same(cache.get(paths[0]), large)


def test_other_files_stay_and_left_overs_go(tmp_path: Path) -> None:
    [video] = videos(tmp_path, 1)
    cache = TowerCache(tmp_path / "cache", 10**6, "tower")
    kept = [cache.folder / name for name in ("notes.txt", ".new.tmp")]
    old = cache.folder / ".killed.tmp"
    for path in (*kept, old):
        path.write_text("x")
    os.utime(old, (1, 1))
    cache.put(video, cache.key(video), drawn_clip())
    assert all(path.is_file() for path in kept) and not old.exists()


WRITER = """
import random, sys, warnings
from pathlib import Path
import torch
from affect.model.tower_cache import StoredClip, TowerCache
warnings.simplefilter("error")
torch.set_num_threads(1)
folder, seed, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
videos = sorted((folder / "videos").iterdir())
cache = TowerCache(folder / "cache", int(sys.argv[4]), "tower")
chance = random.Random(seed)
import time
end = time.monotonic() + seconds
num_found = num_put = 0
while time.monotonic() < end:
    index = chance.randrange(len(videos))
    expected = torch.full((50, 16), float(index))
    found = cache.get(videos[index])
    if found is None:
        cache.put(videos[index], cache.key(videos[index]),
                  StoredClip(expected, (1, 5, 10), float(index), 2.0))
        num_put += 1
    else:
        assert torch.equal(found.features, expected) and found.second_per_grid == index
        num_found += 1
    if chance.random() < 0.01:
        entries = list(cache.folder.glob("*.safetensors"))
        if entries:
            try:
                with open(chance.choice(entries), "r+b") as file:
                    file.truncate(chance.randrange(3000))
            except FileNotFoundError:
                pass
print(num_found, num_put, cache.num_corrupt)
"""


def test_processes_that_write_evict_and_damage_at_once(tmp_path: Path) -> None:
    """Each gets the features that belong to the clip, or none; the room holds but for one file."""
    videos(tmp_path / "videos", 12)
    one = len(_serialise(StoredClip(torch.zeros(50, 16), (1, 5, 10), 11.0, 2.0), KEY))
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    processes = [
        subprocess.Popen(
            [*command, str(seed), "1.5", str(6 * one)], stdout=subprocess.PIPE, text=True
        )
        for seed in range(2)
    ]
    results = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    for num_found, num_put, _ in results:
        assert int(num_found) > 20 and int(num_put) > 20
    assert sum(int(result[2]) for result in results) > 0
    cache = TowerCache(tmp_path / "cache", 6 * one, "tower")
    assert 0 < cache.num_bytes() <= 7 * one
