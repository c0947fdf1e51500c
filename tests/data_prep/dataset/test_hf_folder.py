"""The `datasets` folder: read back by `datasets` itself, offline; its files are safe and whole."""

import hashlib
import json
import os

import pytest

from affect.row_formats import row_from_object
from data_prep.build.config import ExportSection
from data_prep.dataset import plots
from data_prep.dataset.export import export_build
from data_prep.dataset.hf_folder import file_name, place_video
from data_prep.dataset.rows import row_of
from tests.data_prep.dataset.made_videos import finished

NAMES = (
    "a.mp4", "clips/test-of/b.webm", "clips/\u5154\u5b50 \u21161 (copy).mkv", "train/c", "d.MOV",
    "e.avi", "f.flv", "validation/g.mp4",
)  # fmt: skip
MIME_TYPES = {"train/c": "video/quicktime", "clips/test-of/b.webm": "video/webm"}


@pytest.fixture(autouse=True)
def one_plot(monkeypatch):
    """Drawing is no part of what is tested here."""
    monkeypatch.setattr(plots, "PLOTS", {"reason_words": plots.PLOTS["reason_words"]})


def made(root, names=NAMES):
    videos = []
    for number, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(f"content of {name}".encode())
        videos.append(
            finished(
                name,
                9.52,
                [(0.0, 4.23, "Joy", f'Quotes "{number}" and \u5154.'), (4.23, 9.52, "Fear")],
                root=root,
                sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
                genre="Animals" if number == 0 else None,  # of one split only
                mime_type=MIME_TYPES.get(name, "video/mp4"),
            )
        )
    return videos


def test_datasets_reads_the_same_rows_and_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    root, out = tmp_path / "videos", tmp_path / "export"
    videos = made(root)
    settings = ExportSection(test_share=0.25, dev_share=0.25)
    summary = export_build(out, videos, root, settings, seed=0)
    assert all(summary.num_videos.values())
    loaded = datasets.load_dataset(str(out / "dataset"), cache_dir=str(tmp_path / "cache"))
    assert {name: len(rows) for name, rows in loaded.items()} == summary.num_videos
    of_id = {one.video.id: one for one in videos}
    seen = set()
    for rows in loaded.values():
        assert isinstance(rows.features["video"], datasets.Video)
        for stored in rows.cast_column("video", datasets.Video(decode=False)):
            one = of_id[stored["id"]]
            seen.add(stored["id"])
            path = stored.pop("video")["path"]
            with open(path, "rb") as file:
                assert hashlib.file_digest(file, "sha256").hexdigest() == stored["sha256"]
            segments = stored.pop("segments")
            assert segments == json.loads(stored["solution"])["segments"]
            stored["videos"] = [stored.pop("video_path")]
            present = {key: value for key, value in stored.items() if value is not None}
            assert row_from_object(present, 0.05) == row_of(one)
    assert seen == set(NAMES)


def test_names_are_plain_unique_and_known_to_datasets():
    names = [file_name(name, MIME_TYPES.get(name, "video/x-flv")) for name in NAMES]
    assert len(set(names)) == len(NAMES)
    digest = hashlib.sha256(b"a.mp4").hexdigest()
    assert names[0] == f"videos/{digest[:2]}/{digest[:32]}.mp4"
    suffixes = [name.rpartition(".")[2] for name in names]
    assert suffixes == ["mp4", "mkv", "mkv", "mov", "mov", "avi", "mkv", "mp4"]
    for hostile in ("../../etc/passwd", "a/../b", "x" * 5000, "\u202e.mp4", "a.mp4/../../c"):
        name = file_name(hostile, "x/../../y")
        assert ".." not in name and name.isascii() and len(name) < 60


def test_a_video_is_a_hard_link_and_no_symbolic_one(tmp_path):
    root, target = tmp_path / "videos", tmp_path / "set" / "v.mp4"
    [video] = made(root, ["a.mp4"])
    for _ in range(2):
        place_video(root, "a.mp4", video.video.sha256, target)
        assert os.path.samefile(target, root / "a.mp4") and not target.is_symlink()
    assert [path.name for path in target.parent.iterdir()] == ["v.mp4"]


def test_a_link_in_the_way_is_replaced_and_not_followed(tmp_path):
    root, target = tmp_path / "videos", tmp_path / "v.mp4"
    [video] = made(root, ["a.mp4"])
    target.symlink_to(root / "a.mp4")
    place_video(root, "a.mp4", video.video.sha256, target)
    assert not target.is_symlink() and os.path.samefile(target, root / "a.mp4")


def test_without_links_it_is_a_copy_whose_bytes_were_checked(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("another file system")

    monkeypatch.setattr(os, "link", refuse)
    root, target = tmp_path / "videos", tmp_path / "v.mp4"
    [video] = made(root, ["a.mp4"])
    target.write_bytes(b"of an earlier export")
    for _ in range(2):
        place_video(root, "a.mp4", video.video.sha256, target)
        assert target.read_bytes() == b"content of a.mp4"
    (root / "a.mp4").write_bytes(b"changed since")
    target.unlink()
    with pytest.raises(ValueError, match=r"a\.mp4: the file changed"):
        place_video(root, "a.mp4", video.video.sha256, target)
    assert not target.exists() and sorted(path.name for path in tmp_path.iterdir()) == ["videos"]


def test_a_video_that_leads_out_of_the_root_is_refused(tmp_path):
    root = tmp_path / "videos"
    root.mkdir()
    (tmp_path / "secret.mp4").write_bytes(b"secret")
    (root / "a.mp4").symlink_to(tmp_path / "secret.mp4")
    for name in ("a.mp4", "../secret.mp4"):
        with pytest.raises(ValueError):
            place_video(root, name, "0", tmp_path / "out.mp4")
    with pytest.raises(ValueError, match="there is no file"):
        place_video(root, "gone.mp4", "0", tmp_path / "out.mp4")
    assert not (tmp_path / "out.mp4").exists()


def test_the_card_names_only_splits_that_have_videos(tmp_path):
    root, out = tmp_path / "videos", tmp_path / "export"
    settings = ExportSection(test_share=0.0, dev_share=0.0)
    export_build(out, made(root, ["a.mp4", "b.mp4"]), root, settings, seed=0)
    card = (out / "dataset" / "README.md").read_text()
    assert "train/**" in card and "dev/**" not in card and "test/**" not in card
    assert "2 rows: written by models and passed by two judge models" in card
    assert "license" not in card.split("---")[1] and "## Licence\n\nNot stated." in card
