"""An export as a whole: its files, the same bytes each time, done only when it is, no mixtures.

One plot stands for all of them in the fast tests, because drawing takes most of an export's time
(`test_report` draws each).
"""

import json
import os
import random
from dataclasses import asdict

import pytest

from affect.records import read_rows
from data_prep.build.config import ExportSection
from data_prep.dataset import export as export_module
from data_prep.dataset import plots
from data_prep.dataset.export import export_build
from data_prep.dataset.rows import row_of
from tests.data_prep.dataset.made_videos import fingerprint_of, finished

SETTINGS = ExportSection(test_share=0.2, dev_share=0.125)
ALL_PLOTS = dict(plots.PLOTS)
EMOTIONS = ("Joy", "Fear", "Awe (or Wonder)", "Craving")


def made(root, num=20, **changes):
    videos = []
    for number in range(num):
        name = f"clips/{number:03d}.mp4"
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(f"video {number}".encode())
        first, second = EMOTIONS[number % 4], EMOTIONS[(number + 1) % 4]
        spans = [(0.0, 2.0 + number / 10, first), (2.0 + number / 10, 9.0, second)]
        genre = ("Animals", "Horror")[number % 2]
        videos.append(finished(name, 9.0, spans, root=root, genre=genre, **changes))
    return videos


@pytest.fixture(scope="module", autouse=True)
def one_plot():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "PLOTS", {"reason_words": ALL_PLOTS["reason_words"]})
        yield


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    videos = made(folder / "videos")
    summary = export_build(folder / "export", videos, folder / "videos", SETTINGS, seed=0)
    return folder, videos, summary


def files_of(out):
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def test_the_files_and_what_the_summary_says(exported):
    folder, _, summary = exported
    assert summary.num_videos == {"train": 14, "dev": 2, "test": 4}
    assert summary.num_segments == {"train": 28, "dev": 4, "test": 8}
    assert (summary.num_copies, summary.num_copy_groups, summary.provenances) == (
        0, 0, {"verified": 20},
    )  # fmt: skip
    there = files_of(folder / "export")
    assert {name for name in there if "/" not in name} == {
        "train.sft.jsonl", "train.grpo.jsonl", "dev.sft.jsonl", "dev.grpo.jsonl",
        "test.sft.jsonl", "test.grpo.jsonl", "split.json", "statistics.json", "report.html",
        "done.json",
    }  # fmt: skip
    assert set(summary.files) == {name for name in there if "/videos/" not in name} - {"done.json"}
    assert sum(name.startswith("dataset/train/videos/") for name in there) == 14
    done = json.loads(there["done.json"])
    assert set(done["files"]) == set(summary.files) and done["num_videos"] == summary.num_videos


@pytest.mark.slow
def test_every_plot_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "PLOTS", ALL_PLOTS)
    root = tmp_path / "videos"
    summary = export_build(tmp_path / "out", made(root, 4), root, SETTINGS, seed=0)
    drawn = {f"plots/{name}.{kind}" for name in ALL_PLOTS for kind in ("svg", "png")}
    assert drawn == {name for name in summary.files if name.startswith("plots/")}
    assert len(drawn) == 14


def test_rows_read_back_equal_sorted_and_each_in_one_split(exported):
    folder, videos, _ = exported
    rows = {one.video.id: row_of(one) for one in videos}
    seen = []
    for split in ("train", "dev", "test"):
        for form in ("sft", "grpo"):
            read = read_rows(folder / "export" / f"{split}.{form}.jsonl", tolerance_seconds=0.05)
            assert read == [rows[row.id] for row in read]
            assert [row.id for row in read] == sorted(row.id for row in read)
        seen += [row.id for row in read]
    assert sorted(seen) == sorted(rows)


def test_split_json_says_where_each_video_is(exported):
    folder, _, summary = exported
    document = json.loads((folder / "export" / "split.json").read_text())
    train = read_rows(folder / "export" / "train.sft.jsonl")
    assert [row.id for row in train] == [
        name for name, one in document["videos"].items() if one["split"] == "train"
    ]
    assert document["balance"]["num_videos"] == summary.num_videos
    assert document["balance"]["strata"]["genre: Horror"]["num"] == 10
    one = document["videos"]["clips/000.mp4"]
    assert one["group"] is None and "genre: Animals" in one["strata"]


def test_statistics_stand_beside_the_papers(exported):
    folder, _, _ = exported
    document = json.loads((folder / "export" / "statistics.json").read_text())
    ours = {one["name"]: (one["ours"], one["paper"]) for one in document["beside_paper"]}
    assert ours["num_test_videos"] == (4, 1441)
    assert ours["mean_video_seconds"] == (9.0, 14.3)
    assert ours["genre: Animals"] == (0.5, 0.205)


def test_equal_bytes_from_a_generator_in_any_order_into_any_folder(exported, tmp_path):
    folder, videos, summary = exported
    mixed = random.Random(1).sample(videos, len(videos))
    again = export_build(tmp_path, (one for one in mixed), folder / "videos", SETTINGS, seed=0)
    assert asdict(again) == asdict(summary)
    assert files_of(tmp_path) == files_of(folder / "export")


def test_copies_stand_in_one_split_and_are_counted(tmp_path):
    root = tmp_path / "videos"
    videos = made(root)
    alike = made(root, 6, fingerprint=fingerprint_of("one picture"))
    settings = SETTINGS.model_copy(update={"with_videos": False})
    summary = export_build(tmp_path / "out", alike + videos[6:], root, settings, seed=3)
    assert (summary.num_copies, summary.num_copy_groups, summary.largest_copy_group) == (5, 1, 6)
    document = json.loads((tmp_path / "out" / "split.json").read_text())["videos"]
    group = [one for one in document.values() if one["group"] == "clips/000.mp4"]
    assert len(group) == 6 and len({one["split"] for one in group}) == 1
    assert summary.num_videos == {"train": 14, "dev": 2, "test": 4}
    assert not (tmp_path / "out" / "dataset").exists()


@pytest.mark.parametrize("other", ["verified", "rendered"])
def test_drafts_never_mix_with_others_without_being_told(tmp_path, other):
    root = tmp_path / "videos"
    videos = made(root, 2, provenance="draft")[:1] + made(root, 2, provenance=other)[1:]
    with pytest.raises(ValueError, match=rf"1 draft, 1 {other}.*mix_provenances"):
        export_build(tmp_path / "out", videos, root, SETTINGS, seed=0)
    assert files_of(tmp_path / "out") == {}
    told = ExportSection(mix_provenances=True, with_videos=False, test_share=0, dev_share=0)
    summary = export_build(tmp_path / "out", videos, root, told, seed=0)
    assert summary.provenances == {"draft": 1, other: 1}
    rows = read_rows(tmp_path / "out" / "train.sft.jsonl")
    assert [row.extra["provenance"] for row in rows] == ["draft", other]


def test_what_an_earlier_export_left_goes_and_what_is_not_ours_stays(tmp_path):
    root, out = tmp_path / "videos", tmp_path / "out"
    export_build(out, made(root), root, SETTINGS, seed=0)
    theirs = ["notes.txt", "plots/mine.svg", "dataset/train/videos/mine.mp4", "extra/train.jsonl"]
    for name in theirs:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("the user's")
    torn = out / ".split.json.0a1b2c3d.tmp"
    torn.write_text("half of")
    settings = ExportSection(test_share=0.0, dev_share=0.0)
    summary = export_build(out, made(root, 3), root, settings, seed=0)
    there = files_of(out)
    videos = {name for name in there if "/videos/" in name} - set(theirs)
    assert set(there) == {*summary.files, "done.json", *theirs, *videos}
    assert len(videos) == 3 and not torn.exists()
    assert not (out / "dataset" / "test").exists()


def test_an_export_that_fails_is_not_done_and_the_next_one_is_whole(
    exported, tmp_path, monkeypatch
):
    folder, videos, _ = exported
    root = folder / "videos"
    export_build(tmp_path, videos, root, SETTINGS, seed=0)

    def fail(*_):
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(export_module, "_write_report", fail)
        with pytest.raises(OSError, match="no space left"):
            export_build(tmp_path, videos, root, SETTINGS, seed=0)
    assert not (tmp_path / "done.json").exists()
    export_build(tmp_path, videos, root, SETTINGS, seed=0)
    assert files_of(tmp_path) == files_of(folder / "export")


def test_a_video_that_is_gone_stops_the_export_by_name(tmp_path):
    root = tmp_path / "videos"
    videos = made(root, 3)
    os.unlink(videos[1].path)
    with pytest.raises(ValueError, match=r"clips/001\.mp4.*there is no file"):
        export_build(tmp_path / "out", videos, root, SETTINGS, seed=0)
    assert files_of(tmp_path / "out") == {}


def test_nothing_is_written_through_a_link(tmp_path):
    root, out, elsewhere = tmp_path / "videos", tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (out / "dataset").symlink_to(elsewhere)
    with pytest.raises(ValueError, match="is a link"):
        export_build(out, made(root, 3), root, SETTINGS, seed=0)
    assert list(elsewhere.iterdir()) == []


def test_a_build_in_which_nothing_was_finished(tmp_path):
    (tmp_path / "videos").mkdir()
    summary = export_build(tmp_path / "out", [], tmp_path / "videos", SETTINGS, seed=0)
    assert summary.num_videos == {"train": 0, "dev": 0, "test": 0}
    assert summary.largest_deviation is None and summary.provenances == {}
    there = files_of(tmp_path / "out")
    assert "done.json" in there and not any(name.endswith(".jsonl") for name in there)


def test_a_video_that_comes_twice_is_our_fault(tmp_path):
    root = tmp_path / "videos"
    with pytest.raises(AssertionError, match="came twice"):
        export_build(tmp_path / "out", made(root, 2) + made(root, 1), root, SETTINGS, seed=0)
