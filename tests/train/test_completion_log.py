"""Completions on disk: one JSON line each with null for what was not scored, and a plain table."""

import json
import math
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from accelerate import Accelerator
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from affect.jsonl import read_jsonl
from affect.model.generation import Completion
from train.completion_log import CompletionLog, completion_table

NAN = math.nan
TERMS = ["struct", "emo"]
WEIGHTS = [0.25, 0.75]


def reply(text: str, *, num_tokens: int = 4, finished: bool = True) -> Completion:
    return Completion(list(range(num_tokens)), text, finished, [])


def write(log: CompletionLog, step: int, texts: list[str], **overrides: Any) -> None:
    fields = {
        "rows": [{"id": "a" if index < 2 else "b"} for index in range(len(texts))],
        "completions": [reply(text) for text in texts],
        "dropped": [False] * len(texts),
        "terms": [[1.0, 0.5]] * len(texts),
        "advantages": [0.5] * len(texts),
        **overrides,
    }
    log.write(Accelerator(cpu=True), step=step, term_names=TERMS, weights=WEIGHTS, **fields)


def test_a_line_per_completion_in_literal_values(tmp_path: Path) -> None:
    log = CompletionLog(tmp_path / "completions", max_table_rows=8)
    write(
        log,
        12,
        ["one", "two", "three"],
        completions=[reply("one"), reply("two", num_tokens=9, finished=False), reply("three")],
        dropped=[False, True, False],
        terms=[[1.0, 0.5], [NAN, NAN], [NAN, 0.5]],
        advantages=[1.5, 0.0, -1.5],
    )
    common = {"step": 12, "num_tokens": 4, "finished": True, "dropped": False, "replaces": None}
    assert read_jsonl(tmp_path / "completions" / "step_000012.jsonl") == [
        {
            **common, "id": "a", "sample": 0, "text": "one",
            "struct": 1.0, "emo": 0.5, "reward": 0.625, "advantage": 1.5,
        },
        {
            **common, "id": "a", "sample": 1, "text": "two", "num_tokens": 9, "finished": False,
            "dropped": True, "struct": None, "emo": None, "reward": None, "advantage": 0.0,
        },
        {
            **common, "id": "b", "sample": 0, "text": "three",
            "struct": None, "emo": 0.5, "reward": 0.375, "advantage": -1.5,
        },
    ]  # fmt: skip


def test_a_row_that_is_there_for_itself_and_for_another(tmp_path: Path) -> None:
    log = CompletionLog(tmp_path, max_table_rows=8)
    rows = [{"id": "a", "replaces": replaces} for replaces in ("b", "b", None, None)]
    write(log, 1, ["one", "two", "three", "four"], rows=rows)
    lines = read_jsonl(tmp_path / "step_000001.jsonl")
    assert [(line["replaces"], line["sample"]) for line in lines] == [
        *(("b", 0), ("b", 1), (None, 0), (None, 1))
    ]


def test_what_is_not_scored_is_null_and_never_0_or_nan(tmp_path: Path) -> None:
    log = CompletionLog(tmp_path, max_table_rows=8)
    write(log, 1, ["x"], terms=[[NAN, NAN]], dropped=[True])
    line = (tmp_path / "step_000001.jsonl").read_text(encoding="utf-8")
    assert '"struct": null, "emo": null, "reward": null' in line
    assert "NaN" not in line


def test_two_writes_of_one_step_add_up_and_the_next_step_starts_anew(tmp_path: Path) -> None:
    log = CompletionLog(tmp_path, max_table_rows=8)
    write(log, 1, ["one", "two"])
    write(log, 1, ["three"])
    write(log, 2, ["four"])
    texts = [[r["text"] for r in read_jsonl(path)] for path in sorted(tmp_path.glob("*.jsonl"))]
    assert texts == [["one", "two", "three"], ["four"]]


def test_a_repeated_step_replaces_the_file_of_a_run_that_was_cut(tmp_path: Path) -> None:
    write(CompletionLog(tmp_path, max_table_rows=8), 1, ["before", "the cut"])
    write(CompletionLog(tmp_path, max_table_rows=8), 1, ["after"])
    assert [r["text"] for r in read_jsonl(tmp_path / "step_000001.jsonl")] == ["after"]


HOSTILE = [
    "[bold]x[/bold]",
    "[red]",
    "[/]",
    "[link=http://example.org]y[/link]",
    ":smile:",
    "line one\nline two",
    'quote " backslash \\ {"start_time": 0.0}',
    "tab\tnul\x00bell\x07 escape \x1b[31mred",
    "next line \x85 line separator \u2028 paragraph \u2029",
    "half a surrogate pair \ud83d",
    "emoji \U0001f600 and e\u0301 and \u202eright to left",
    "",
    "word " * 200,
    "w" * 500,
]


def test_hostile_replies_come_back_the_same(tmp_path: Path) -> None:
    log = CompletionLog(tmp_path, max_table_rows=100)
    write(log, 3, HOSTILE)
    content = (tmp_path / "step_000003.jsonl").read_bytes()
    assert content.count(b"\n") == len(HOSTILE) and content.endswith(b"\n")
    assert [r["text"] for r in read_jsonl(tmp_path / "step_000003.jsonl")] == HOSTILE
    assert (tmp_path / "step_000003.txt").is_file()


CHARACTERS = st.text(st.characters(codec=None) | st.characters(categories=["Cc", "Cs"]))


@given(st.lists(CHARACTERS, min_size=1, max_size=4))
@settings(deadline=None, max_examples=50)
def test_any_reply_makes_a_table_without_control_characters(texts: list[str]) -> None:
    table = completion_table([record(text) for text in texts], TERMS)
    assert all(cell_len(line) <= 140 for line in table.split("\n"))
    table.encode()
    assert not any(unicodedata.category(mark) == "Cc" and mark != "\n" for mark in table)


def record(text: str, **overrides: Any) -> dict[str, Any]:
    return {
        "step": 12, "id": "train/00012", "sample": 3, "text": text, "num_tokens": 131,
        "finished": True, "dropped": False, "struct": 1.0, "emo": 0.257, "reward": 0.71,
        "advantage": -0.4, **overrides,
    }  # fmt: skip


def test_the_table_can_be_read() -> None:
    table = completion_table(
        [
            record("[bold]x[/bold] and [red]y"),
            record("cut short", sample=4, finished=False, struct=None, emo=None, reward=None,
                   advantage=0.0, dropped=True),
        ],
        TERMS,
    )  # fmt: skip
    lines = table.splitlines()
    assert lines[0].strip() == "step 12"
    head = [cell.strip() for cell in lines[2].split("┃")[1:-1]]
    assert head == ["row", "struct", "emo", "reward", "adv", "tokens", "reply"]
    cells = [[c.strip() for c in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    assert cells == [
        ["train/00012 #3", "1.00", "0.26", "0.71", "-0.40", "131", "[bold]x[/bold] and [red]y"],
        ["train/00012 #4", "-", "-", "-", "0.00", "131 cut dropped", "cut short"],
    ]


def test_no_word_of_a_long_reply_is_lost() -> None:
    words = [f"w{index}" for index in range(300)]
    table = completion_table([record(" ".join(words))], TERMS)
    assert [word for word in table.replace("│", " ").split() if word[0] == "w"] == words


def test_a_markup_in_a_rows_id_stays_text() -> None:
    assert "[red]a[/red] #3" in completion_table([record("x", id="[red]a[/red]")], TERMS)


def test_the_table_is_capped_and_the_lines_are_not(tmp_path: Path) -> None:
    log = CompletionLog(tmp_path, max_table_rows=2)
    write(log, 1, ["one", "two", "three"])
    table = (tmp_path / "step_000001.txt").read_text(encoding="utf-8")
    assert "two" in table and "three" not in table
    assert len(read_jsonl(tmp_path / "step_000001.jsonl")) == 3


def test_no_table_where_none_is_wanted(tmp_path: Path) -> None:
    write(CompletionLog(tmp_path, max_table_rows=0), 1, ["one"])
    assert [path.name for path in tmp_path.iterdir()] == ["step_000001.jsonl"]


def test_every_list_must_have_the_same_length(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="zip"):
        write(CompletionLog(tmp_path, 8), 1, ["one", "two"], advantages=[0.5])
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_table_reaches_an_offline_wandb_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb", reason="the wandb extra is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    log = CompletionLog(tmp_path / "completions", max_table_rows=2, report_to=["wandb"])
    write(log, 1, ["before the run"])  # no run yet: nothing to send to
    with wandb.init(project="test", dir=str(tmp_path)):
        write(log, 2, ["one", "two", "three"])
    [table] = (tmp_path / "wandb").glob("offline-run-*/files/media/table/completions*.table.json")
    content = json.loads(table.read_text(encoding="utf-8"))
    assert content["columns"] == [
        "step", "id", "sample", "struct", "emo", "reward", "advantage", "num_tokens", "text",
    ]  # fmt: skip
    assert content["data"] == [
        [2, "a", 0, 1.0, 0.5, 0.625, 0.5, 4, "one"],
        [2, "a", 1, 1.0, 0.5, 0.625, 0.5, 4, "two"],
    ]
