"""The folder: complete, resumable, the same again, and never a mix of two worlds."""

import json

import pytest

from affect.prompts import prompt_hash
from affect.records import read_rows, resolve_video
from affect.video import FrameBudget, probe_video, sample_video
from data_prep.rendered.__main__ import main
from data_prep.rendered.rows import sample_rows
from data_prep.rendered.world import render_world

FEW = {"train": 4, "dev": 2, "test": 1}


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    assert render_world(folder, FEW, seed=3) == 7
    return folder


class Interrupted(Exception):
    """Stands for the key that stops a run."""


def stop_after(number):
    def progress(plans):
        for position, plan in enumerate(plans):
            if position == number:
                raise Interrupted
            yield plan

    return progress


def test_the_folder_holds_clips_rows_and_markers(world):
    assert set(contents(world)) == {
        "request.json",
        "done.json",
        *(f"{split}.{kind}.jsonl" for split in FEW for kind in ("sft", "grpo")),
        *(f"videos/{split}/{n:05d}.mp4" for split, number in FEW.items() for n in range(number)),
    }
    assert json.loads((world / "done.json").read_text()) == {
        "world_version": 1,
        "seed": 3,
        "num_clips": FEW,
        "prompt_hash": prompt_hash("segment"),
    }


@pytest.mark.parametrize("kind", ["sft", "grpo"])
def test_every_row_names_a_clip_that_lasts_as_long_as_it_says(world, kind):
    ids = []
    for split, number in FEW.items():
        rows = read_rows(world / f"{split}.{kind}.jsonl")
        assert len(rows) == number
        for row in rows:
            info = probe_video(resolve_video(world, row.video))
            assert info.duration_seconds == pytest.approx(row.duration_seconds, abs=1e-6)
            assert info.num_frames == round(10 * row.duration_seconds)
            assert row.timeline.segments[-1].end_seconds == row.duration_seconds
        ids += [row.id for row in rows]
    assert len(set(ids)) == 7


def test_a_clip_becomes_four_tokens_a_grid_under_a_small_budget(world):
    budget = FrameBudget(fps=2.0, min_pixels=56 * 56, max_pixels=56 * 56)
    sampled = sample_video(world / "videos/train/00000.mp4", budget)
    assert sampled.frames.shape[1:] == (56, 56, 3)
    num_grids = len(sampled.frames) // 2
    info = probe_video(world / "videos/train/00000.mp4")
    assert budget.num_video_tokens(info.duration_seconds, info.num_frames, 56, 56) == 4 * num_grids


def test_rows_without_drawing_are_the_rows_on_disk(world):
    sampled = sample_rows(4, seed=3, split="train")
    read = read_rows(world / "train.sft.jsonl")
    assert [(row.id, row.timeline, row.prompt) for row in sampled] == [
        (row.id, row.timeline, row.prompt) for row in read
    ]


def test_the_same_request_elsewhere_gives_the_same_bytes(world, tmp_path):
    render_world(tmp_path, FEW, seed=3)
    assert contents(tmp_path) == contents(world)


def test_an_interrupted_run_goes_on_and_ends_the_same(world, tmp_path):
    with pytest.raises(Interrupted):
        render_world(tmp_path, FEW, seed=3, progress=stop_after(5))
    assert sorted(contents(tmp_path)) == [
        "request.json",
        "videos/dev/00000.mp4",
        *(f"videos/train/0000{n}.mp4" for n in range(4)),
    ]
    (tmp_path / "videos/dev/.00001.mp4.77.part").write_bytes(b"what a killed run leaves")
    kept = tmp_path / "videos/train/00002.mp4"
    stamp = kept.stat().st_mtime_ns
    assert render_world(tmp_path, FEW, seed=3) == 2
    assert kept.stat().st_mtime_ns == stamp
    assert contents(tmp_path) == contents(world)


def test_a_finished_folder_is_left_alone(world):
    before = {path: path.stat().st_mtime_ns for path in world.rglob("*")}
    assert render_world(world, FEW, seed=3) == 0
    assert {path: path.stat().st_mtime_ns for path in world.rglob("*")} == before


def test_rows_with_another_prompt_are_written_again(world, tmp_path):
    render_world(tmp_path, FEW, seed=3)
    done = json.loads((tmp_path / "done.json").read_text())
    (tmp_path / "done.json").write_text(json.dumps({**done, "prompt_hash": "of an older prompt"}))
    (tmp_path / "dev.grpo.jsonl").write_text("rows with the older prompt")
    assert render_world(tmp_path, FEW, seed=3) == 0
    assert contents(tmp_path) == contents(world)


def test_a_lost_clip_is_drawn_again(world, tmp_path):
    render_world(tmp_path, FEW, seed=3)
    (tmp_path / "videos/test/00000.mp4").unlink()
    assert render_world(tmp_path, FEW, seed=3) == 1
    assert contents(tmp_path) == contents(world)


def test_a_larger_request_draws_only_what_is_new(world, tmp_path):
    render_world(tmp_path, {"train": 1, "dev": 1, "test": 0}, seed=3)
    assert render_world(tmp_path, FEW, seed=3) == 5
    assert contents(tmp_path) == contents(world)


def test_another_seed_is_refused_and_redrawn_on_request(world, tmp_path):
    render_world(tmp_path, {"train": 1, "dev": 0, "test": 0}, seed=4)
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=r'"seed": 4\}, asked for is .*"seed": 3.*--redraw'):
        render_world(tmp_path, FEW, seed=3)
    assert contents(tmp_path) == before
    assert render_world(tmp_path, FEW, seed=3, redraw=True) == 7
    assert contents(tmp_path) == contents(world)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "world").write_text("a file")
    with pytest.raises(ValueError, match="is a file; give a folder"):
        render_world(tmp_path / "world", FEW, seed=3)


def test_a_folder_of_other_videos_is_refused_even_with_redraw(tmp_path):
    mine = tmp_path / "videos" / "holiday.mp4"
    mine.parent.mkdir()
    mine.write_bytes(b"not ours")
    for redraw in (False, True):
        with pytest.raises(ValueError, match="did not make it"):
            render_world(tmp_path, FEW, seed=3, redraw=redraw)
    assert contents(tmp_path) == {"videos/holiday.mp4": b"not ours"}


@pytest.mark.parametrize(
    ("num_clips", "message"),
    [
        ({"train": 1}, "give one number for each of train, dev, test"),
        ({"train": 1, "dev": -2, "test": 0}, "-2 dev clips were asked for"),
    ],
)
def test_numbers_of_clips_that_make_no_sense_are_refused(tmp_path, num_clips, message):
    with pytest.raises(ValueError, match=message):
        render_world(tmp_path / "world", num_clips, seed=0)
    assert not (tmp_path / "world").exists()


def test_the_command_draws_tells_and_shows(tmp_path, capsys):
    out = ["--out", str(tmp_path / "world")]
    few = ["--train", "2", "--dev", "1", "--test", "0"]
    assert main([*out, *few, "--seed", "3", "--sheet", "2"]) == 0
    told = capsys.readouterr().out
    assert "3 clips drawn, 0 were there" in told
    assert "row 1: train/00001" in told
    assert (tmp_path / "world/sheet.png").read_bytes().startswith(b"\x89PNG")
    assert main([*out, *few, "--seed", "3"]) == 0
    assert "0 clips drawn, 3 were there" in capsys.readouterr().out


def test_the_command_refuses_another_seed_with_exit_code_2(tmp_path, capsys):
    few = ["--out", str(tmp_path), "--train", "1", "--dev", "0", "--test", "0"]
    assert main([*few, "--seed", "3"]) == 0
    assert main([*few, "--seed", "4"]) == 2
    assert "choose another --out, or pass --redraw" in capsys.readouterr().err
