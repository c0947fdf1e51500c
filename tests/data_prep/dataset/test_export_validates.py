"""`dar validate` finds nothing wrong with an export of real files: drawn clips, looked at as in a
build, with the truth of their drawing as what was decided."""

import hashlib

import pytest

from affect.records import read_rows
from data_prep.build.config import ExportSection, PictureSection
from data_prep.dataset import plots
from data_prep.dataset.export import export_build
from data_prep.dataset.finished import FinishedVideo
from data_prep.picture.one_pass import look_at
from data_prep.records import Decided, FinalSegment, Looked, Video
from data_prep.rendered.plan import plan_clip
from data_prep.rendered.world import render_world
from data_prep.validate.__main__ import main as validate


@pytest.fixture(autouse=True)
def one_plot(monkeypatch):
    monkeypatch.setattr(plots, "PLOTS", {"reason_words": plots.PLOTS["reason_words"]})


def drawn(root, num):
    """Finished videos of a rendered world, the first one there twice under another name."""
    render_world(root, {"train": num, "dev": 0, "test": 0}, seed=3)
    settings = PictureSection().model_dump_json()
    for number in range(-1, num):
        plan = plan_clip(3, "train", max(0, number))
        name = plan.video if number >= 0 else "videos/again.mp4"
        path = root / name
        if number < 0:
            path.write_bytes((root / plan.video).read_bytes())
        segments = tuple(
            FinalSegment(
                start_seconds=one.start_seconds,
                end_seconds=one.end_seconds,
                emotion=one.emotion,
                reason=one.reason,
            )
            for one in plan.timeline().segments
        )
        yield FinishedVideo(
            video=Video(id=name, sha256=hashlib.sha256(path.read_bytes()).hexdigest()),
            path=path,
            looked=Looked.from_json(look_at(path, settings, str(root / ".pack.zip"))),
            tagged=None,
            decided=Decided(provenance="rendered", segments=segments),
            source="rendered",
        )


def test_an_export_of_drawn_clips_passes(tmp_path, capsys):
    root, out = tmp_path / "world", tmp_path / "export"
    settings = ExportSection(test_share=0.3, dev_share=0.3)
    summary = export_build(out, drawn(root, 5), root, settings, seed=0)
    assert (sum(summary.num_videos.values()), summary.num_copies) == (6, 1)
    assert all(summary.num_videos.values())
    for split, num_videos in summary.num_videos.items():
        for form in ("sft", "grpo"):
            file = out / f"{split}.{form}.jsonl"
            code = validate(
                [str(file), "--video-root", str(root), "--require-answers", "--workers", "1"]
            )
            assert code == 0, capsys.readouterr().out
            assert f"{num_videos} rows" in capsys.readouterr().out
            assert len(read_rows(file, tolerance_seconds=0.05)) == num_videos
