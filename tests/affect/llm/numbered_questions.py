"""Questions whose right reply can be told from the question, and a scripted server's answers.

question = numbered_question(7)          # "... This is question 7. ...", some with pictures
answer("", texts, 0, schema, digest)     # {"number": 7, ...} in the shape that was asked for
"""

import io
import re
from functools import cache
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from pydantic import BaseModel

from affect.llm.chat import Frame, Frames, Part, Question, VideoFile
from tests.affect.video.clips import write_clip

ANSWERS = "tests.affect.llm.numbered_questions:answer"


class TagReply(BaseModel):
    number: int
    genre: Literal["Sports", "Horror"]


class JudgeReply(BaseModel):
    feedback: str
    visual_grounding: int
    causal_logic: int
    viewer_centricity: int
    temporal_consistency: int
    answer_consistency: int
    number: int


class Event(BaseModel):
    start_seconds: float
    text: str


class ProposeReply(BaseModel):
    events: list[Event]
    number: int


Reply = TagReply | JudgeReply | ProposeReply
REPLY_TYPES: tuple[type[Reply], ...] = (TagReply, JudgeReply, ProposeReply)


def reply_type(number: int) -> type[Reply]:
    return REPLY_TYPES[number % 3]


def numbered_question(number: int, folder: Path | None = None) -> Question:
    """Every fourth with two pictures; with a folder, every tenth with a clip of its own there."""
    parts: list[Part] = [f"Look closely. This is question {number}. Answer it."]
    if folder is not None and number % 10 == 0:
        path = folder / f"{number}.mp4"
        if not path.exists():
            write_clip(path, 2 + number // 10)
        parts.append(VideoFile(f"{number:064x}", path, "video/mp4", pictures(number)))
    elif number % 4 == 0:
        parts.append(pictures(number))
    names = ("tag", "judge", "propose")
    return Question(names[number % 3], tuple(parts), max_tokens=300)


@cache
def pictures(number: int) -> Frames:
    frames = []
    for place in range(2):
        buffer = io.BytesIO()
        Image.new("RGB", (16, 16), (number % 256, place * 90, 40)).save(buffer, "JPEG")
        frames.append(Frame(place * 0.5, buffer.getvalue()))
    return Frames(f"{number:064x}", tuple(frames))


def answer(
    name: str, texts: list[str], num_pictures: int, schema: dict[str, Any] | None, digest: str
) -> dict[str, Any] | str:
    """The right reply; plain words where no schema is asked for."""
    match = re.search(r"This is question (\d+)\.", "\n".join(texts))
    number = int(match[1]) if match else -1
    keys = set((schema or {}).get("properties", {}))
    if "genre" in keys:
        return {"number": number, "genre": "Sports" if number % 2 else "Horror"}
    if "events" in keys:
        events = [{"start_seconds": 0.5 * place, "text": "It moves."} for place in range(3)]
        return {"events": events, "number": number}
    if "feedback" in keys:
        scores = {name: number % 6 for name in JudgeReply.model_fields if "_" in name}
        return {"feedback": f"{num_pictures} pictures.", **scores, "number": number}
    return f"The answer to question {number} by {name or 'nobody'}."
