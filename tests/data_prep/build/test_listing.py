"""Which files a build finds, how they are called, and what is refused."""

import asyncio
import os
import unicodedata
from pathlib import Path

import pytest

from data_prep.build.config import VideosSection
from data_prep.build.journal import FileState, Journal
from data_prep.build.listing import find_files
from data_prep.build.lock import held, is_held


def ids(root: Path, skip: Path, *include: str) -> list[str]:
    section = VideosSection(root=root, include=include or ("**/*",))
    return sorted(file.id for file in find_files(section, skip))


def touch(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_every_file_but_hidden_ones_and_our_own(tmp_path: Path) -> None:
    for name in ("a.mp4", "b/c.txt", "b/no_suffix", ".hidden", ".git/config", "out/journal.sqlite"):
        touch(tmp_path / name)
    (tmp_path / "empty_folder").mkdir()
    assert ids(tmp_path, tmp_path / "out") == ["a.mp4", "b/c.txt", "b/no_suffix"]
    assert ids(tmp_path, tmp_path / "out", "*.mp4", "b/*") == ["a.mp4", "b/c.txt", "b/no_suffix"]


def test_an_id_is_composed_and_the_path_is_as_stored(tmp_path: Path) -> None:
    stored = unicodedata.normalize("NFD", "café.mp4")
    touch(tmp_path / stored)
    (file,) = find_files(VideosSection(root=tmp_path), tmp_path / "out")
    assert file.id == "café.mp4" == unicodedata.normalize("NFC", stored)
    assert file.path == stored != file.id
    assert (file.size, file.mtime_ns) == (1, os.stat(tmp_path / stored).st_mtime_ns)


def test_two_files_with_one_id_are_refused(tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        touch(tmp_path / "videos" / unicodedata.normalize(form, "café.mp4"))
    files = find_files(VideosSection(root=tmp_path / "videos"), tmp_path / "out")
    with Journal(tmp_path / "journal.sqlite") as journal:
        with pytest.raises(ValueError, match=r"have one id, 'café.mp4'"):
            journal.begin_run("base", files)
        assert journal.begin_run("base", []) == 1  # nothing of the refused listing is left
        assert journal.num_listed() == 0


def test_a_file_that_two_patterns_name_is_one(tmp_path: Path) -> None:
    touch(tmp_path / "a.mp4")
    files = find_files(VideosSection(root=tmp_path, include=("*", "a.*")), tmp_path / "out")
    with Journal(tmp_path / "out" / "journal.sqlite") as journal:
        journal.begin_run("base", files)
        assert [file.id for file in journal.listed_files()] == ["a.mp4"]


def test_links_stay_inside(tmp_path: Path) -> None:
    touch(tmp_path / "videos" / "a.mp4")
    (tmp_path / "videos" / "link.mp4").symlink_to("a.mp4")
    assert ids(tmp_path / "videos", tmp_path / "out") == ["a.mp4", "link.mp4"]
    touch(tmp_path / "elsewhere" / "b.mp4")
    link = tmp_path / "videos" / "out_of_it"
    for target in (tmp_path / "elsewhere", tmp_path / "elsewhere" / "b.mp4"):
        link.symlink_to(target)
        with pytest.raises(ValueError, match="is a link out of the folder"):
            ids(tmp_path / "videos", tmp_path / "out")
        link.unlink()


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "a/../../*", ""])
def test_patterns_stay_inside(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ValueError, match=r"videos\.include: .* must be a pattern below"):
        ids(tmp_path, tmp_path / "out", pattern)


def test_a_root_that_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"videos\.root: .* is no folder"):
        ids(tmp_path / "nowhere", tmp_path / "out")


def test_a_hash_holds_until_the_file_changes(tmp_path: Path) -> None:
    path = touch(tmp_path / "a.mp4")
    section = VideosSection(root=tmp_path)

    def hash_after_listing(journal: Journal) -> str | None:
        journal.begin_run("base", find_files(section, tmp_path / "out"))
        (file,) = journal.listed_files()
        return file.sha256

    with Journal(tmp_path / "out" / "journal.sqlite") as journal:
        assert hash_after_listing(journal) is None
        (file,) = journal.listed_files()
        asyncio.run(journal.set_sha256(file, "abc"))
        assert hash_after_listing(journal) == "abc"
        os.utime(path, ns=(1, 1))
        assert hash_after_listing(journal) is None
        asyncio.run(journal.set_sha256(file, "of the earlier state"))
        assert hash_after_listing(journal) is None


def test_more_files_than_a_page(tmp_path: Path) -> None:
    files = [FileState(f"{n:05d}", f"{n:05d}", 0, 0) for n in range(1203)]
    with Journal(tmp_path / "journal.sqlite") as journal:
        journal.begin_run("base", reversed(files))
        assert journal.num_listed() == 1203
        assert list(journal.listed_files()) == files


def test_one_process_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "build" / "lock"
    assert not is_held(path)
    with held(path):
        assert is_held(path)
        with pytest.raises(ValueError, match=f"process {os.getpid()} builds here"), held(path):
            pass
        assert is_held(path)
    assert not is_held(path)
    with held(path):
        pass
