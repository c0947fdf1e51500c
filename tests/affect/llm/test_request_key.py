"""What a reply hangs on is in its key, and nothing else."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from affect.llm.chat import Question
from affect.llm.request_key import request_key
from affect.llm.wire_schema import wire_schema
from tests.affect.llm.replies import Inner, Tag, frames, section, video

CLIP = frames(0.0, 0.5)
QUESTION = Question("tag", (CLIP, "What is it?"), 50)
FROZEN = "e6b99f2140c2128ad1cc7bf502f6be3efb756ff06fe9ca2e0391759254297706"


def key(asked: Question = QUESTION, reply_type: Any = Tag, **settings: Any) -> str:
    return request_key(section(**settings), asked, wire_schema(reply_type, asked.name))


def changed(**fields: Any) -> Question:
    return dataclasses.replace(QUESTION, **fields)


def test_the_key_is_frozen() -> None:
    """Whoever changes it makes every reply be bought again."""
    assert key() == FROZEN


@pytest.mark.parametrize(
    "other",
    [
        {"base_url": "http://elsewhere/v1"},
        {"api_key_env": "KEY"},
        {"timeout_seconds": 5.0},
        {"max_concurrent": 1},
        {"price_per_million_prompt_tokens": 3.0},
        {"requests_per_minute": 3.0},
    ],
)
def test_where_it_stands_and_what_it_costs_does_not_matter(other: dict[str, Any]) -> None:
    assert key(**other) == key()


def test_the_encoders_bytes_do_not_matter() -> None:
    assert key(changed(parts=(frames(0, 0.5, jpeg=b"other"), "What is it?"))) == key()


def test_everything_else_does() -> None:
    keys = [
        key(),
        key(model="large"),
        key(temperature=0.5),
        key(top_p=0.5),
        key(structured_output=False),
        key(extra_body={"top_k": 1}),
        key(api="gemini"),
        key(reply_type=Inner),
        key(changed(max_tokens=51)),
        key(changed(seed=1)),
        key(changed(name="describe")),
        key(changed(parts=(CLIP, "What is that?"))),
        key(changed(parts=("What is it?", CLIP))),
        key(changed(parts=("What is", " it?", CLIP))),
        key(changed(parts=(CLIP,))),
        key(changed(parts=(frames(0.0), "What is it?"))),
        key(changed(parts=(frames(0.0, 0.75), "What is it?"))),
        key(changed(parts=(frames(0.0, 0.5, sha256="ee"), "What is it?"))),
    ]
    assert len(set(keys)) == len(keys)


def test_a_clip_is_what_is_shown_of_it() -> None:
    whole = video(Path("a.mp4"))
    moved = changed(parts=(dataclasses.replace(whole, path=Path("b.mp4")),))
    fewer = changed(parts=(dataclasses.replace(whole, frames=frames(0.0, sha256=whole.sha256)),))
    asked = changed(parts=(whole,))
    assert key(asked) == key(moved) == key(changed(parts=(whole.frames,)))
    assert key(asked) != key(fewer)
    assert key(asked, media="video_url") == key(fewer, media="video_url")
    assert key(asked, media="video_url") != key(asked)


def test_a_container_that_gemini_does_not_take_is_its_frames() -> None:
    whole = video(Path("a.mkv"), "video/x-matroska")
    kept_otherwise = dataclasses.replace(whole, frames=frames(0.0, 0.5, sha256="ef" * 32))
    one, other = (changed(parts=(part,)) for part in (whole, kept_otherwise))
    for media in ("inline", "files"):
        assert key(one, api="gemini", media=media) != key(other, api="gemini", media=media)
    taken = [
        changed(parts=(dataclasses.replace(part, mime_type="video/mp4"),))
        for part in (whole, kept_otherwise)
    ]
    assert len({key(asked, api="gemini", media="files") for asked in taken}) == 1
