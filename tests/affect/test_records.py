"""Rows read and written back the same, and every mistake named by file, line and field."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from affect.messages import prompt_from_text
from affect.records import Row, read_jsonl, read_rows, write_grpo_rows, write_sft_rows
from affect.timeline import Segment, Timeline
from tests.paths import SHARED, needs_shared

ANSWER = (
    '{"segments": [{"start_time": 0.0, "end_time": 4.0, "emotion": "Joy", "reason": "They dance."},'
    ' {"start_time": 4.0, "end_time": 9.0, "emotion": "Fear", "reason": "A shadow."}]}'
)
SFT: dict[str, Any] = {
    "id": "clip_1",
    "video": "real/clip_1.mp4",
    "video_duration": 9.0,
    "conversations": [
        {"from": "human", "value": "<video>\nSegment this silent video."},
        {"from": "gpt", "value": ANSWER},
    ],
}
GRPO: dict[str, Any] = {
    "id": "clip_1",
    "messages": [
        {"role": "system", "content": "You know how viewers feel."},
        {"role": "user", "content": "<video>\nSegment this silent video."},
    ],
    "videos": ["real/clip_1.mp4"],
    "video_duration": 9.0,
    "source": "vce",
    "solution": ANSWER,
}


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def sft(**changes: Any) -> dict[str, Any]:
    return SFT | changes


def without(row: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != key}


@needs_shared
def test_the_real_rows_come_back_the_same(tmp_path: Path) -> None:
    real = SHARED / "videos" / "real.jsonl"
    rows = read_rows(real)
    assert [row.id for row in rows] == [stored["id"] for stored in read_jsonl(real)]
    assert len(rows) == 6
    assert [len(row.timeline.segments) for row in rows if row.timeline] == [3, 3, 3, 1, 1, 1]
    write_sft_rows(tmp_path / "sft.jsonl", rows)
    assert read_jsonl(tmp_path / "sft.jsonl") == read_jsonl(real)
    assert (tmp_path / "sft.jsonl").read_bytes() == real.read_bytes()
    # Through the other format and back nothing is lost either.
    write_grpo_rows(tmp_path / "grpo.jsonl", rows)
    write_sft_rows(tmp_path / "again.jsonl", read_rows(tmp_path / "grpo.jsonl"))
    assert (tmp_path / "again.jsonl").read_bytes() == real.read_bytes()
    # What models train on is what stands there.
    for row, stored in zip(rows, read_jsonl(real), strict=True):
        assert row.timeline is not None
        assert row.timeline.to_json() == stored["conversations"][1]["value"]


def test_an_sft_row(tmp_path: Path) -> None:
    (row,) = read_rows(write(tmp_path / "rows.jsonl", SFT))
    assert row == Row(
        id="clip_1",
        video="real/clip_1.mp4",
        duration_seconds=9.0,
        source=None,
        prompt=prompt_from_text("<video>\nSegment this silent video."),
        timeline=Timeline(
            (Segment(0.0, 4.0, "Joy", "They dance."), Segment(4.0, 9.0, "Fear", "A shadow.")), 9.0
        ),
    )
    assert row.prompt[0]["content"] == [
        {"type": "video"},
        {"type": "text", "text": "\nSegment this silent video."},
    ]


@pytest.mark.parametrize(
    "stored",
    [
        SFT,
        sft(source="vce", weight=0.5, tags=["a", None], nested={"b": None}),
        sft(video_duration=9),
        sft(conversations=[{"from": "system", "value": "Be brief."}, *SFT["conversations"]]),
        sft(conversations=SFT["conversations"][:1]),
        sft(
            conversations=[{"from": "human", "value": "Watch <video> now"}, SFT["conversations"][1]]
        ),
        # As written by others: other spacing, two decimals, a gap the authors' validator allows.
        sft(
            conversations=[
                SFT["conversations"][0],
                {
                    "from": "gpt",
                    "value": json.dumps(json.loads(ANSWER), indent=1)
                    .replace("4.0", "4.04", 1)
                    .replace("9.0", "8.87")
                    .replace('"Joy"', '"Awe"'),
                },
            ]
        ),
    ],
)
def test_sft_rows_come_back_the_same(tmp_path: Path, stored: dict[str, Any]) -> None:
    rows = read_rows(write(tmp_path / "rows.jsonl", stored))
    write_sft_rows(tmp_path / "again.jsonl", rows)
    assert read_jsonl(tmp_path / "again.jsonl") == [stored]
    write_grpo_rows(tmp_path / "grpo.jsonl", rows)
    assert read_rows(tmp_path / "grpo.jsonl") == rows


@pytest.mark.parametrize(
    "stored",
    [
        GRPO,
        without(GRPO, "source"),
        without(GRPO, "solution"),
        without(GRPO, "videos") | {"video": "real/clip_1.mp4"},
        GRPO | {"messages": GRPO["messages"][1:], "note": "kept"},
    ],
)
def test_grpo_rows_come_back_the_same(tmp_path: Path, stored: dict[str, Any]) -> None:
    rows = read_rows(write(tmp_path / "rows.jsonl", stored))
    write_grpo_rows(tmp_path / "again.jsonl", rows)
    assert read_jsonl(tmp_path / "again.jsonl") == [stored]
    write_sft_rows(tmp_path / "sft.jsonl", rows)
    assert read_rows(tmp_path / "sft.jsonl") == rows


def test_what_arrow_does_to_rows_is_undone(tmp_path: Path) -> None:
    arrow = GRPO | {
        "video": None,
        "conversations": None,
        "messages": [
            GRPO["messages"][0] | {"name": None},
            {
                "role": "user",
                "content": [
                    {"type": "video", "text": None},
                    {"type": "text", "text": "\nSegment this silent video.", "video": None},
                ],
            },
        ],
    }
    assert read_rows(write(tmp_path / "a.jsonl", arrow)) == read_rows(
        write(tmp_path / "b.jsonl", GRPO)
    )


def test_a_changed_timeline_is_written_not_the_stored_answer(tmp_path: Path) -> None:
    (row,) = read_rows(write(tmp_path / "rows.jsonl", SFT))
    joy = Timeline((Segment(0.0, 9.0, "Joy", "They dance."),), 9.0)
    write_sft_rows(tmp_path / "new.jsonl", [dataclasses.replace(row, timeline=joy)])
    (stored,) = read_jsonl(tmp_path / "new.jsonl")
    assert stored["conversations"][1]["value"] == joy.to_json()
    write_grpo_rows(tmp_path / "new.jsonl", [dataclasses.replace(row, timeline=None)])
    (stored,) = read_jsonl(tmp_path / "new.jsonl")
    assert "solution" not in stored


def test_a_target_is_written_with_one_decimal(tmp_path: Path) -> None:
    answer = ANSWER.replace("4.0", "4.04", 1).replace("9.0", "8.87")
    stored = sft(conversations=[SFT["conversations"][0], {"from": "gpt", "value": answer}])
    (row,) = read_rows(write(tmp_path / "rows.jsonl", stored))
    assert row.timeline is not None
    assert row.timeline.to_json() == ANSWER


BAD_ROWS: dict[str, tuple[Any, str]] = {
    "no id": (without(SFT, "id"), "id: missing"),
    "null id": (sft(id=None), "id: missing"),
    "number id": (sft(id=7), "id: a text"),
    "blank id": (sft(id=" "), "id: a text"),
    "no duration": (without(SFT, "video_duration"), "video_duration: missing; it is not inferred"),
    "null duration": (sft(video_duration=None), "video_duration: missing"),
    "zero duration": (sft(video_duration=0.0), "video_duration: seconds above 0"),
    "negative duration": (sft(video_duration=-9.0), "video_duration: seconds above 0"),
    "text duration": (sft(video_duration="9.0"), "video_duration: seconds above 0"),
    "boolean duration": (sft(video_duration=True), "video_duration: seconds above 0"),
    "huge duration": (sft(video_duration=10**400), "video_duration: seconds above 0"),
    "no video": (without(SFT, "video"), "video: exactly one"),
    "absolute video": (sft(video="/a/b.mp4"), "video: .*absolute"),
    "climbing video": (sft(video="../a.mp4"), "video: .*climbs"),
    "number video": (sft(video=3), "video: a path"),
    "number source": (sft(source=3), "source: a text"),
    "videos on SFT": (sft(videos=["a.mp4"]), "videos: a field of GRPO"),
    "solution on SFT": (sft(solution=ANSWER), "solution: a field of GRPO"),
    "neither form": (without(SFT, "conversations"), "conversations: an SFT row"),
    "both forms": (SFT | {"messages": GRPO["messages"]}, "conversations: an SFT row"),
    "conversations no list": (sft(conversations="x"), "conversations: a list"),
    "no turns": (sft(conversations=[]), "conversations: one user turn"),
    "turn no object": (sft(conversations=["x"]), r"conversations\[0\]: an object"),
    "turn without text": (
        sft(conversations=[{"from": "human"}]),
        r"conversations\[0\]: has \['from",
    ),
    "turn with extra": (
        sft(conversations=[SFT["conversations"][0] | {"loss": False}]),
        r"conversations\[0\]: has",
    ),
    "unknown role": (
        sft(conversations=[{"from": "user", "value": "<video>"}]),
        r"conversations\[0\].from: 'user' is none of",
    ),
    "two rounds": (sft(conversations=SFT["conversations"] * 2), "conversations: one user turn"),
    "text no string": (
        sft(conversations=[{"from": "human", "value": ["<video>"]}]),
        r"conversations\[0\].value: a text",
    ),
    "no mark": (
        sft(conversations=[{"from": "human", "value": "Segment."}]),
        "conversations: the row has 1 video and its human turn 0",
    ),
    "two marks": (
        sft(conversations=[{"from": "human", "value": "<video><video>"}]),
        "conversations: the row has 1 video and its human turn 2",
    ),
    "answer no JSON": (
        sft(conversations=[SFT["conversations"][0], {"from": "gpt", "value": "Joy!"}]),
        r"conversations\[1\].value: not a timeline: no_object",
    ),
    "answer fenced": (
        sft(conversations=[SFT["conversations"][0], {"from": "gpt", "value": f"```{ANSWER}```"}]),
        r"conversations\[1\].value: not a timeline: surrounding_text",
    ),
    "answer ends early": (
        sft(video_duration=9.2),
        r"conversations\[1\].value: .*end: segments\[1\]",
    ),
    "no videos": (GRPO | {"videos": []}, "videos: a list of exactly one"),
    "two videos": (GRPO | {"videos": ["a.mp4", "b.mp4"]}, "videos: a list of exactly one"),
    "videos text": (GRPO | {"videos": "a.mp4"}, "videos: a list of exactly one"),
    "video and videos": (GRPO | {"video": "real/clip_1.mp4"}, "video: exactly one"),
    "solution object": (GRPO | {"solution": json.loads(ANSWER)}, "solution: the JSON text"),
    "solution unlabelled": (
        GRPO | {"solution": ANSWER.replace("Joy", "Happy")},
        r"solution: not a timeline: emotion: segments\[0\] has 'Happy'",
    ),
    "assistant in messages": (
        GRPO | {"messages": [*GRPO["messages"], {"role": "assistant", "content": ANSWER}]},
        r"messages\[2\].role: 'assistant' is none of",
    ),
    "image part": (
        GRPO | {"messages": [{"role": "user", "content": [{"type": "image"}]}]},
        r"messages\[0\].content: content\[0\] must be",
    ),
}


@pytest.mark.parametrize(("stored", "message"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_mistakes_are_named(tmp_path: Path, stored: Any, message: str) -> None:
    path = write(tmp_path / "rows.jsonl", sft(id="first"), sft(id="second"), stored)
    with pytest.raises(ValueError, match=rf"rows\.jsonl:3: {message}"):
        read_rows(path)


def test_ids_are_unique(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", SFT, sft(id="clip_2"), SFT)
    with pytest.raises(ValueError, match=r"rows\.jsonl:3: id: 'clip_1' stands already on line 1"):
        read_rows(path)
    rows = read_rows(write(tmp_path / "rows.jsonl", SFT))
    for writer in (write_sft_rows, write_grpo_rows):
        with pytest.raises(ValueError, match="id: two rows are called 'clip_1'"):
            writer(tmp_path / "new.jsonl", rows * 2)
    assert not (tmp_path / "new.jsonl").exists()


def test_the_released_tolerance_is_the_default(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", sft(video_duration=9.15))
    assert read_rows(path)[0].timeline is not None
    with pytest.raises(ValueError, match=r"end: segments\[1\]"):
        read_rows(path, tolerance_seconds=0.05)


def test_rows_made_in_code_are_checked_too() -> None:
    timeline = Timeline((Segment(0.0, 9.0, "Joy", "They dance."),), 9.0)
    row = Row("a", "./a.mp4", 9, None, prompt_from_text("<video>"), timeline)
    assert (row.video, row.duration_seconds) == ("a.mp4", 9.0)
    for changes, message in (
        ({"id": ""}, "id: "),
        ({"video": "/a.mp4"}, "video: "),
        ({"duration_seconds": 8.0}, "video_duration: the row says 8.0 s"),
        ({"prompt": ()}, "prompt: one user turn"),
        ({"extra": {"solution": "x"}}, "solution: not a field"),
    ):
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(row, **changes)  # type: ignore[arg-type]
