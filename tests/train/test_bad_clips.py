"""A clip that can't be read once training runs: which row takes its place, and what is noted."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from affect.run_folder import RunFolder
from affect.video import GuardedReader
from tests.affect.video.hostile_reads import hang
from tests.tiny import shared_processor, tiny_policy
from tests.train.drawn_rows import BUDGET, collator, data_section, draw_world, sft_trainer
from tests.train.grpo_fixtures import ScriptedReward, build_trainer
from train.bad_clips import MAX_TRIED, ClipReplacer, replacement_index
from train.clips import BadClipError, ClipStore, guarded_reader
from train.completion_log import CompletionLog
from train.row_data import load_rows


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_world(tmp_path_factory.mktemp("drawn"))


@pytest.fixture
def world(drawn: Path, tmp_path: Path) -> Path:
    """Rows square, wide, long and short, with clips of their own to break."""
    shutil.copytree(drawn, tmp_path / "world")
    return tmp_path / "world"


def clip(world: Path, name: str) -> Path:
    return world / "videos" / f"{name}.mp4"


def cut(world: Path, name: str) -> None:
    content = clip(world, name).read_bytes()
    clip(world, name).write_bytes(content[: len(content) // 2])


def replacer(world: Path, run: Path, *, max_share: float = 1.0, **data: Any) -> ClipReplacer:
    section = data_section(world, **data)
    folder = RunFolder(run)
    store = ClipStore(shared_processor(), section, BUDGET, guarded_reader(section, folder))
    rows = load_rows(section, is_resumed=True)
    return ClipReplacer(store, rows, seed=7, record=folder.replaced_rows, max_share=max_share)


def ready(given: ClipReplacer, name: str) -> tuple[str, str | None]:
    """Id of what is read for a row, and of what that replaces."""
    [row] = [one for one in given.rows if one["id"] == name]
    found = given.ready(row)
    assert found.prompt.num_tokens == given.clips.prompt(found.row).num_tokens
    return found.row["id"], found.replaces


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_choice_is_a_number_of_seed_row_and_draw() -> None:
    assert [replacement_index(7, "wide", draw, 1000) for draw in range(4)] == [408, 240, 211, 646]
    assert replacement_index(8, "wide", 0, 1000) != replacement_index(7, "wide", 0, 1000)
    assert replacement_index(7, "long", 0, 1000) != replacement_index(7, "wide", 0, 1000)
    counts = [0] * 10
    for index in range(1000):
        counts[replacement_index(0, f"row {index}", 0, 10)] += 1
    assert min(counts) > 60 and max(counts) < 140


def expected(name: str, *bad: str) -> str:
    """The row that is tried first of those that are good."""
    names = ["square", "wide", "long", "short"]
    order = [names[replacement_index(7, name, draw, 4)] for draw in range(16 * MAX_TRIED)]
    return next(one for one in order if one not in (name, *bad))


def test_a_good_row_is_itself(world: Path, tmp_path: Path) -> None:
    assert ready(replacer(world, tmp_path / "run"), "wide") == ("wide", None)
    assert not (tmp_path / "run" / "replaced_rows.jsonl").exists()


def test_a_cut_file_is_replaced_noted_and_told_once(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut(world, "wide")
    given = replacer(world, tmp_path / "run")
    other = expected("wide")
    for _ in range(3):
        assert ready(given, "wide") == (other, "wide")
    told = capsys.readouterr().err
    assert told.count("bad clip: row wide: ") == 1
    assert f"; row {other} takes its place\n" in told
    [line] = lines(tmp_path / "run" / "replaced_rows.jsonl")
    assert (line["id"], line["video"], line["replaced_by"]) == ("wide", "videos/wide.mp4", other)
    assert str(clip(world, "wide")) in line["reason"]
    [noted] = lines(tmp_path / "run" / "quarantine.jsonl")
    assert noted["path"] == str(clip(world, "wide"))
    assert noted["size_bytes"] == clip(world, "wide").stat().st_size

    # Another process of the run, or a resumed one: the same row, and nothing written twice.
    assert ready(replacer(world, tmp_path / "run"), "wide") == (other, "wide")
    assert len(lines(tmp_path / "run" / "replaced_rows.jsonl")) == 1
    assert len(lines(tmp_path / "run" / "quarantine.jsonl")) == 1


def test_a_file_that_vanished_and_one_that_comes_back(world: Path, tmp_path: Path) -> None:
    given = replacer(world, tmp_path / "run")
    assert ready(given, "long") == ("long", None)
    kept = clip(world, "long").rename(tmp_path / "kept.mp4")
    assert ready(given, "long") == (expected("long"), "long")
    [noted] = lines(tmp_path / "run" / "quarantine.jsonl")
    assert (noted["size_bytes"], noted["mtime_ns"]) == (None, None)
    assert "No such file" in noted["reason"]
    kept.rename(clip(world, "long"))
    assert ready(given, "long") == ("long", None)


def test_a_replacement_that_is_bad_goes_on_to_the_next(world: Path, tmp_path: Path) -> None:
    other = expected("wide")
    cut(world, "wide")
    cut(world, other)
    given = replacer(world, tmp_path / "run")
    second = expected("wide", other)
    assert ready(given, "wide") == (second, "wide")
    named = {line["id"]: line["replaced_by"] for line in lines(given.record)}  # type: ignore[arg-type]
    assert named == {"wide": second, other: None}


def test_where_nothing_can_be_read_the_run_stops(world: Path, tmp_path: Path) -> None:
    for path in (world / "videos").iterdir():
        path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"^row wide: .*\nand the rows tried in its place can't"):
        ready(replacer(world, tmp_path / "run"), "wide")


def test_above_the_share_the_run_stops_whichever_process_found_them(
    world: Path, tmp_path: Path
) -> None:
    cut(world, "wide")
    cut(world, "long")
    one, other = (replacer(world, tmp_path / "run", max_share=0.25) for _ in range(2))
    bad = "wide" if expected("wide") != "long" else "long"
    assert ready(one, bad)[1] == bad
    with pytest.raises(ValueError, match=r"^2 of 4 rows have a clip that can't be read") as caught:
        ready(other, {"wide": "long", "long": "wide"}[bad])
    assert "data.max_bad_clips_share allows 1; they are listed in" in str(caught.value)
    with pytest.raises(ValueError, match=r"1 of 4 rows .*allows 0;"):
        ready(replacer(world, tmp_path / "none", max_share=0.0), bad)


def test_a_decode_that_never_ends(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = GuardedReader.sample

    def hanging(reader: GuardedReader, path: Any, budget: Any) -> Any:
        if Path(path).stem == "wide":
            return reader.call(hang, path)
        return sample(reader, path, budget)

    monkeypatch.setattr(GuardedReader, "sample", hanging)
    given = replacer(world, tmp_path / "run", decode_timeout_seconds=1.0)
    assert ready(given, "wide") == (expected("wide"), "wide")
    [noted] = lines(tmp_path / "run" / "quarantine.jsonl")
    assert (noted["limit_seconds"], noted["path"]) == (1.0, str(clip(world, "wide")))
    # A resumed run meets it in quarantine, though its own decode would come back.
    monkeypatch.setattr(GuardedReader, "sample", sample)
    again = replacer(world, tmp_path / "run", decode_timeout_seconds=1.0)
    assert ready(again, "wide") == (expected("wide"), "wide")
    assert len(lines(tmp_path / "run" / "quarantine.jsonl")) == 1


def test_another_clip_under_its_name_is_replaced_but_is_no_broken_file(
    world: Path, tmp_path: Path
) -> None:
    shutil.copy(clip(world, "long"), clip(world, "wide"))
    given = replacer(world, tmp_path / "run")
    assert ready(given, "wide") == (expected("wide"), "wide")
    assert "video_duration is 3.0 s" in lines(given.record)[0]["reason"]  # type: ignore[arg-type]
    assert not (tmp_path / "run" / "quarantine.jsonl").exists()


def test_a_mistake_that_is_not_the_clips_stops_the_run(world: Path, tmp_path: Path) -> None:
    given = replacer(world, tmp_path / "run")
    row = dict(given.rows[0], video="../outside.mp4")
    with pytest.raises(ValueError, match=r"^row square: ") as caught:
        given.ready(row)
    assert not isinstance(caught.value, BadClipError)


# --- in the trainers ------------------------------------------------------------------------------


def test_a_cold_start_trains_on_the_replacement(world: Path, tmp_path: Path) -> None:
    given = replacer(world, tmp_path / "run")
    cut(world, "wide")
    model, _ = tiny_policy()
    trainer = sft_trainer(world, tmp_path / "out", model=model, store=given.clips, logging_steps=1)
    plain = collator(given.clips, model)
    with pytest.raises(BadClipError, match="row wide"):
        plain([given.rows[1]])
    trainer.data_collator.replacer = given
    batch = trainer.data_collator([given.rows[0], given.rows[1]])
    wanted = next(row for row in given.rows if row["id"] == expected("wide"))
    clean = plain([given.rows[0], wanted])
    assert batch.pop("is_replaced").tolist() == [False, True]
    assert clean.pop("is_replaced").tolist() == [False, False]
    assert all((batch[name] == clean[name]).all() for name in clean)
    trainer.train()
    [line] = [line for line in trainer.state.log_history if "loss" in line]
    assert line["data/num_replaced"] == 1


def test_grpo_replaces_a_whole_group(world: Path, tmp_path: Path) -> None:
    given = replacer(world, tmp_path / "run")
    cut(world, "wide")
    other = expected("wide")
    seen: list[tuple[str, str | None, str]] = []

    class Reward(ScriptedReward):
        def __call__(self, completions: Any, **columns: Any) -> list[float | None]:
            seen.extend(zip(columns["id"], columns["replaces"], columns["solution"], strict=True))
            return super().__call__(completions, **columns)

    values = dict.fromkeys(("square", "wide", "long", "short"), (0.1, 0.2, 0.3, 0.4))
    trainer = build_trainer(
        tmp_path / "out",
        list(given.rows),
        store=given.clips,
        rewards=[Reward("scripted", values)],
        replacer=given,
        completion_log=CompletionLog(tmp_path / "completions", 8),
    )
    trainer.train()
    solutions = {row["id"]: row["solution"] for row in given.rows}
    groups = seen[::2]
    assert seen[1::2] == groups and len(groups) == 4  # both rows of each group alike
    assert (other, "wide", solutions[other]) in groups
    assert (other, None, solutions[other]) in groups and "wide" not in [one[0] for one in groups]
    assert trainer.records.logs[0]["data/num_replaced"] == 1
    logged = lines(tmp_path / "completions" / "step_000001.jsonl")
    twice = [line for line in logged if line["id"] == other]
    assert sorted((line["replaces"] or "", line["sample"]) for line in twice) == [
        *(("", 0), ("", 1), ("wide", 0), ("wide", 1))
    ]
    texts = {
        name: [line["text"] for line in twice if line["replaces"] == name]
        for name in (None, "wide")
    }
    assert texts[None] != texts["wide"]  # sampled with the replaced row's seed
    # One decode for each of three files, and one try at the broken one.
    assert given.clips.num_decodes == 4
