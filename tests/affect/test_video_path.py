"""Names of clips: relative, normalised, and never leading out of the root."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.video_path import check_video_path, resolve_video

NFC = "caf\u00e9/\u00fc.mp4"
NFD = unicodedata.normalize("NFD", NFC)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("a.mp4", "a.mp4"),
        ("real/a b.mp4", "real/a b.mp4"),
        ("./real//a.mp4", "real/a.mp4"),
        ("..a/...mp4", "..a/...mp4"),
        (NFC, NFC),
        (NFD, NFC),
    ],
)
def test_names(written: str, name: str) -> None:
    assert check_video_path(written) == name
    assert check_video_path(name) == name


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("/a/b.mp4", "absolute"),
        ("//host/a.mp4", "absolute"),
        ("C:/a.mp4", "absolute"),
        ("C:\\a.mp4", "backslash"),
        ("real\\a.mp4", "backslash"),
        ("../a.mp4", "climbs out"),
        ("real/../../a.mp4", "climbs out"),
        ("real/..", "climbs out"),
        ("https://host/a.mp4", "address"),
        ("file:///a.mp4", "address"),
        ("", "is no path"),
        (" ", "is no path"),
        ("a\0.mp4", "is no path"),
        ("a\n.mp4", "is no path"),
        ("a\ud800.mp4", "is no path"),
        (".", "names a folder"),
        ("./", "names a folder"),
        (None, "needed, not None"),
        (3, "needed, not 3"),
        (["a.mp4"], "needed, not"),
    ],
)
def test_refused_names(written: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^video: .*{message}"):
        check_video_path(written)


@given(st.text(max_size=12) | st.text(alphabet="./\\a:", max_size=8))
def test_any_name_is_settled_or_refused(written: str) -> None:
    try:
        name = check_video_path(written)
    except ValueError as error:
        assert str(error).startswith("video: ")
        return
    assert check_video_path(name) == name
    assert (Path("x") / name).is_relative_to("x")


def test_resolve(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.mp4").touch()
    assert resolve_video(tmp_path, "real/a.mp4") == (tmp_path / "real" / "a.mp4").resolve()
    assert resolve_video(tmp_path, "real/missing.mp4").name == "missing.mp4"
    with pytest.raises(ValueError, match="absolute"):
        resolve_video(tmp_path, str(tmp_path / "real" / "a.mp4"))


def test_links_may_not_leave_the_root(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "a.mp4").touch()
    (root / "b.mp4").touch()
    (root / "file.mp4").symlink_to(outside / "a.mp4")
    (root / "folder").symlink_to(outside)
    (root / "inside.mp4").symlink_to("b.mp4")
    (root / "loop.mp4").symlink_to("loop.mp4")
    for video in ("file.mp4", "folder/a.mp4", "folder/missing.mp4"):
        with pytest.raises(ValueError, match="leads out of"):
            resolve_video(root, video)
    with pytest.raises(ValueError, match="cannot be looked up"):
        resolve_video(root, "loop.mp4")
    assert resolve_video(root, "inside.mp4") == (root / "b.mp4").resolve()
    # The root itself may be a link: what counts is where it leads.
    (tmp_path / "link").symlink_to(root)
    assert resolve_video(tmp_path / "link", "b.mp4") == (root / "b.mp4").resolve()
    # A folder beside the root whose name only begins like it is outside.
    (tmp_path / "root2").mkdir()
    (root / "beside").symlink_to(tmp_path / "root2")
    with pytest.raises(ValueError, match="leads out of"):
        resolve_video(root, "beside/a.mp4")


def test_a_disk_that_stores_decomposed_names(tmp_path: Path) -> None:
    stored = tmp_path / NFD
    stored.parent.mkdir()
    stored.touch()
    assert resolve_video(tmp_path, NFC).is_file()
    assert resolve_video(tmp_path, NFD).is_file()
