"""Rows as a data set, and their lengths, checked before anything trains."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import train.row_data
from affect.parsing import parse_reply
from affect.prompts import render_segment_prompt
from affect.records import read_rows, write_grpo_rows, write_sft_rows
from affect.video import FrameBudget, probe_video
from tests.paths import SHARED, needs_shared
from tests.tiny import shared_processor, tiny_policy
from tests.train.drawn_rows import (
    BUDGET,
    clip_store,
    collator,
    data_section,
    draw_world,
    duration_seconds,
    row,
    timeline,
)
from train.row_data import check_lengths, load_rows
from train.sections import DataSection


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the videos that are probed from here on."""
    names: list[str] = []

    def note(path: Path) -> Any:
        names.append(Path(path).stem)
        return probe_video(path)

    monkeypatch.setattr(train.row_data, "probe_video", note)
    return names


def test_columns(world: Path) -> None:
    dataset = load_rows(data_section(world))
    assert dataset["id"][:] == ["square", "wide", "long", "short"]
    first = dataset[0]
    assert set(first) == {"id", "video", "video_duration", "prompt", "solution"}
    assert (first["video"], first["video_duration"]) == ("videos/square.mp4", 4.0)
    assert parse_reply(first["solution"], 4.0).timeline == timeline("square")


def text_of(messages: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    assert [message["role"] for message in messages] == ["user"]
    return [(part["type"], part.get("text")) for part in messages[0]["content"]]


def test_the_rows_own_prompt(world: Path) -> None:
    [first, *_] = load_rows(data_section(world, prompt="row"))
    assert text_of(first["prompt"]) == [("video", None), ("text", "\nDescribe.")]


def test_the_projects_prompt(world: Path) -> None:
    [first, *_] = load_rows(data_section(world, prompt="project"))
    assert text_of(first["prompt"]) == [("video", None), ("text", render_segment_prompt(4.0))]


def test_both_formats_give_the_same_data_set(world: Path, tmp_path: Path) -> None:
    write_grpo_rows(tmp_path / "rows.grpo.jsonl", read_rows(world / "rows.jsonl"))
    data = data_section(world)
    again = data.model_copy(update={"rows": tmp_path / "rows.grpo.jsonl"})
    assert load_rows(again).to_list() == load_rows(data).to_list()


def test_only_the_first_rows(world: Path) -> None:
    assert load_rows(data_section(world, max_rows=2))["id"][:] == ["square", "wide"]
    assert len(load_rows(data_section(world, max_rows=99))) == 4


@needs_shared
def test_the_annotated_real_clips() -> None:
    videos = SHARED / "videos"
    dataset = load_rows(DataSection(rows=videos / "real.jsonl", video_root=videos))
    assert len(dataset) == 6
    assert all(parse_reply(r["solution"], r["video_duration"]).timeline for r in dataset)


def with_rows(folder: Path, change: Callable[[list[Any]], list[Any]]) -> DataSection:
    draw_world(folder, ["square", "wide"])
    write_sft_rows(folder / "rows.jsonl", change([row("square"), row("wide")]))
    return data_section(folder)


def test_a_row_without_a_target(tmp_path: Path) -> None:
    data = with_rows(tmp_path, lambda rows: [rows[0], row("wide", timeline=None)])
    with pytest.raises(ValueError, match=r"rows\.jsonl: row wide has no target to train on"):
        load_rows(data)


def test_a_row_without_its_video(tmp_path: Path) -> None:
    data = with_rows(tmp_path, lambda rows: [rows[0], row("wide", video="videos/gone.mp4")])
    with pytest.raises(ValueError, match=r"rows\.jsonl have a clip that can't be used:") as caught:
        load_rows(data)
    assert "\n  row wide: no video videos/gone.mp4 under " in str(caught.value)


def broken_world(folder: Path, **settings: Any) -> DataSection:
    """Four rows, of which one has no video and two have files that are none."""
    draw_world(folder)
    (folder / "videos" / "square.mp4").unlink()
    (folder / "videos" / "wide.mp4").write_bytes(b"")
    (folder / "videos" / "long.mp4").write_text("not a video, but not short of bytes either")
    return data_section(folder, max_prompt_tokens=51, **settings)


def test_all_clips_that_are_bad_at_start_are_named(tmp_path: Path) -> None:
    data = broken_world(tmp_path)
    with pytest.raises(ValueError, match=r"^1 rows of") as caught:
        load_rows(data)
    assert "row square: no video videos/square.mp4" in str(caught.value)
    assert "replace_always" in str(caught.value)
    rows = load_rows(data.model_copy(update={"on_bad_clip": "replace_always"}))
    with pytest.raises(ValueError, match=r"^2 rows of") as caught:
        check_lengths(rows.select([1, 2, 3]), data, BUDGET, shared_processor(), 100)
    assert re.search(r"\n  row wide: .*\n  row long: ", str(caught.value))


@pytest.mark.parametrize(
    ("on_bad_clip", "is_resumed", "goes_on"),
    [
        *(("stop", False, False), ("stop", True, False), ("replace", False, False)),
        *(("replace", True, True), ("replace_always", False, True)),
    ],
)
def test_where_rows_without_a_clip_are_left_to_be_replaced(
    on_bad_clip: str,
    is_resumed: bool,
    goes_on: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A clip that vanished in the middle of a run must not keep it from being resumed."""
    data = broken_world(tmp_path, on_bad_clip=on_bad_clip)
    if not goes_on:
        with pytest.raises(ValueError, match=r"row square: no video"):
            load_rows(data, is_resumed=is_resumed)
        return
    rows = load_rows(data, is_resumed=is_resumed)
    assert len(rows) == 4
    longest = check_lengths(rows, data, BUDGET, shared_processor(), 100, is_resumed=is_resumed)
    assert longest == 147
    told = capsys.readouterr().err
    assert "row square: no video" in told and "other rows will take their places" in told
    assert ("row wide: " in told) == (not is_resumed)


def test_rows_beyond_max_rows_are_not_asked_for(tmp_path: Path) -> None:
    data = with_rows(tmp_path, lambda rows: [rows[0], row("wide", video="videos/gone.mp4")])
    assert len(load_rows(data.model_copy(update={"max_rows": 1}))) == 1


def test_no_rows_and_no_file(tmp_path: Path) -> None:
    data = with_rows(tmp_path, lambda rows: [])
    with pytest.raises(ValueError, match=r"rows\.jsonl: holds no rows"):
        load_rows(data)
    data.rows.unlink()
    with pytest.raises(ValueError, match=r"rows\.jsonl"):
        load_rows(data)


def test_a_row_that_is_no_row(tmp_path: Path) -> None:
    data = with_rows(tmp_path, lambda rows: rows)
    lines = data.rows.read_text().splitlines()
    broken = {key: value for key, value in json.loads(lines[1]).items() if key != "video_duration"}
    data.rows.write_text(lines[0] + "\n" + json.dumps(broken) + "\n")
    with pytest.raises(ValueError, match=r"rows\.jsonl:2: .*video_duration"):
        load_rows(data)


# --- lengths ------------------------------------------------------------------------------------


def check(data: DataSection, max_tokens: int | None, budget: FrameBudget = BUDGET) -> None:
    check_lengths(load_rows(data), data, budget, shared_processor(), max_tokens)


def real_lengths(world: Path) -> dict[str, tuple[int, int]]:
    """Prompt and answer tokens of each row, from the tensors that training would take."""
    store = clip_store(world)
    model, _ = tiny_policy()
    lengths = {}
    for one in load_rows(store.data):
        num_prompt = store.prompt(one).num_tokens
        num_all = int(collator(store, model)([one])["attention_mask"].sum())
        lengths[one["id"]] = (num_prompt, num_all - num_prompt)
    return lengths


def test_lengths_are_those_of_training(world: Path) -> None:
    assert real_lengths(world) == {
        "square": (35, 91),
        "wide": (37, 91),
        "long": (43, 148),
        "short": (35, 43),
    }


def test_rows_that_surely_fit_are_not_probed(world: Path, probed: list[str]) -> None:
    # At most 4 grids of 8 tokens and 19 of text before 148 of answer: 199.
    check(data_section(world, max_prompt_tokens=51), 199)
    assert probed == []


def test_only_rows_in_doubt_are_probed(world: Path, probed: list[str]) -> None:
    # "long" is bounded by 51 + 148 tokens, and has 43 + 148.
    check(data_section(world, max_prompt_tokens=51), 198)
    assert probed == ["long"]


def test_a_resumed_run_decodes_nothing_for_it(world: Path, probed: list[str]) -> None:
    """They were probed before the run first trained; the longest answer counts all the same."""
    data = data_section(world, max_prompt_tokens=51)
    rows = load_rows(data)
    longest = check_lengths(rows, data, BUDGET, shared_processor(), 198, is_resumed=True)
    assert probed == []
    assert longest == check_lengths(rows, data, BUDGET, shared_processor(), 198)


def test_the_exact_limit_passes_and_one_less_does_not(world: Path) -> None:
    check(data_section(world, max_prompt_tokens=43), 191)
    with pytest.raises(ValueError) as caught:
        check(data_section(world), 190)
    assert "1 rows of" in str(caught.value)
    assert "  row long: prompt and answer need 43 + 148 tokens, 190 are allowed\n" in str(
        caught.value
    )
    with pytest.raises(ValueError, match=r"  row long: its prompt needs 43 tokens, 42 are allowed"):
        check(data_section(world, max_prompt_tokens=42), None)


def test_every_row_that_is_too_long_is_named(world: Path) -> None:
    with pytest.raises(ValueError) as caught:
        check(data_section(world), 120)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("3 rows of ") and lines[0].endswith("for the token limits:")
    assert lines[1:4] == [
        "  row square: prompt and answer need 35 + 91 tokens, 120 are allowed",
        "  row wide: prompt and answer need 37 + 91 tokens, 120 are allowed",
        "  row long: prompt and answer need 43 + 148 tokens, 120 are allowed",
    ]
    assert "video.max_frames" in lines[4]


def test_a_long_list_is_cut_but_counted(world: Path, tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    write_sft_rows(many, [row("short", id=f"short-{n}") for n in range(23)])
    with pytest.raises(ValueError) as caught:
        check(data_section(world, rows=many), 50)
    assert str(caught.value).startswith("23 rows of")
    assert str(caught.value).count("  row short-") == 20
    assert "\n  and 3 more\n" in str(caught.value)


def test_without_a_limit_on_the_answer_only_prompts_count(world: Path, probed: list[str]) -> None:
    check(data_section(world, max_prompt_tokens=51), None)
    assert probed == []


def test_the_projects_prompt_counts_with_its_own_text(world: Path) -> None:
    data = data_section(world, prompt="project", max_prompt_tokens=500)
    num_tokens = clip_store(world, prompt="project").prompt(load_rows(data)[0]).num_tokens
    assert num_tokens > 500
    with pytest.raises(ValueError, match=rf"row square: its prompt needs {num_tokens} tokens, 500"):
        check(data, None)


def test_a_smaller_budget_makes_room(world: Path) -> None:
    data = data_section(world, max_prompt_tokens=40)
    assert duration_seconds("long") == 6.0
    with pytest.raises(ValueError, match="row long"):
        check(data, None)
    check(data, None, BUDGET.model_copy(update={"max_frames": 6}))
