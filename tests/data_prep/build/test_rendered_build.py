"""The rendered world through the whole builder: its own rows come out, or the build fails."""

from dataclasses import replace
from pathlib import Path

import pytest

from affect.records import Row, read_rows
from data_prep.build.run import main
from data_prep.rendered.rows import sample_rows
from data_prep.rendered.world import render_world
from tests.paths import ROOT

NUM_CLIPS = {"train": 4, "dev": 2, "test": 2}
CONFIG = ROOT / "configs" / "build" / "rendered.yaml"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world") / "rendered"
    render_world(path, NUM_CLIPS, seed=0)
    return path


def run(world: Path, out: Path, *arguments: str) -> int:
    paths = ["--videos.root", str(world), "--out", str(out)]
    return main(["--config", str(CONFIG), *paths, *arguments])


def without_extra(row: Row) -> Row:
    return replace(row, extra={})


def test_the_exported_rows_are_the_worlds_own(world: Path, tmp_path: Path) -> None:
    assert run(world, tmp_path) == 0
    for split, num in NUM_CLIPS.items():
        for kind in ("sft", "grpo"):
            name = f"{split}.{kind}.jsonl"
            exported = list(read_rows(tmp_path / "export" / name))
            assert [without_extra(row) for row in exported] == sample_rows(num, 0, split)
            written = list(read_rows(world / name))
            assert [row.stored_answer for row in exported] == [row.stored_answer for row in written]
            assert {row.extra["provenance"] for row in exported} == {"rendered"}


@pytest.mark.slow
def test_another_seed_and_a_rejected_clip_fail_the_build(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(world, tmp_path / "seed", "--rendered.seed", "1") == 1
    assert "truth: not_rendered" in capsys.readouterr().out
    assert run(world, tmp_path / "long", "--select.min_duration_seconds", "6") == 1
    assert "drawn clips were rejected and are missing in the export" in capsys.readouterr().out
