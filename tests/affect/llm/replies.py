"""Reply types and questions that the tests of `affect.llm` share.

Example: `question("What is it?", pictures=2)`.
"""

from pathlib import Path

from pydantic import BaseModel

from affect.llm.chat import Frame, Frames, Part, Question, VideoFile
from affect.llm.model_section import ModelSection

# The smallest file that begins and ends like a JPEG.
JPEG = b"\xff\xd8\xff\xe0" + bytes(12) + b"\xff\xd9"


class Inner(BaseModel):
    score: float
    note: str = ""


class Tag(BaseModel):
    genre: str
    number: int
    inner: tuple[Inner, ...] = ()


GOOD = '{"genre": "Sports", "number": 3, "inner": [{"score": 4, "note": "a"}]}'
KEY = "sk-secret-0123456789"


def section(**settings: object) -> ModelSection:
    return ModelSection.model_validate({"model": "small", **settings})


def question(text: str = "What is it?", pictures: int = 0, **settings: int) -> Question:
    parts: tuple[Part, ...] = (text,)
    if pictures:
        parts = (frames(*(0.25 * n for n in range(pictures))), *parts)
    return Question("tag", parts, **{"max_tokens": 50, **settings})


def frames(*times_seconds: float, sha256: str = "ab" * 32, jpeg: bytes = JPEG) -> Frames:
    return Frames(sha256, tuple(Frame(time, jpeg) for time in times_seconds))


def video(path: Path, mime_type: str = "video/webm") -> VideoFile:
    return VideoFile("cd" * 32, path, mime_type, frames(0.0, 0.5, sha256="cd" * 32))
