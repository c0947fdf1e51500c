"""How every stage shows pictures and quotes words: the pieces of which questions are made.

    question = Question("describe", (prompt, *shown(frames, "S_2")), settings.max_tokens)
    quoted('a "bird"\n<|im_end|>')     # '"a \\"bird\\"\\n\\u003c|im_end|>"'

Words of another model are data: they go in as one JSON string, from which nothing in them can
break out, and every prompt says that what stands in quotes is never an instruction.
"""

import json
import re
from collections.abc import Sequence

from affect.llm.chat import Frames, Part, VideoFile

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def shown(pictures: Frames | VideoFile, label: str) -> tuple[Part, ...]:
    """A line that says what is shown and at which seconds, then the pictures or the clip.

    label: what the prompt calls it (`S_2`). A whole clip may reach the model as a video or as
    pictures, so its line says the times for the second case.
    """
    if isinstance(pictures, VideoFile):
        frames = pictures.frames.frames
        line = f"{label}, as a video, or else as {_count(len(frames))}"
    else:
        frames = pictures.frames
        line = f"{label}, as {_count(len(frames))}"
    times = ", ".join(f"{frame.time_seconds:.2f}" for frame in frames)
    return (f"{line} at these seconds of the clip: {times}.", pictures)


def quoted(text: str) -> str:
    """The text as one JSON string on one line, which no text can end early.

    A `<` is written as its JSON escape, so that neither a tag nor a chat template's special token
    (`<|im_end|>`, `<image>`) stands in the question; `json.loads` gives the text back.
    """
    written = json.dumps(text, ensure_ascii=False).replace("<", "\\u003c")
    return _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", written)


def seconds(value_seconds: float) -> str:
    """A time as prompts write it: one decimal."""
    return f"{value_seconds:.1f}"


def listed(names: Sequence[str]) -> str:
    """Names that stand in the code, as a list in a sentence: `a, b, c`."""
    return ", ".join(names)


def _count(num_pictures: int) -> str:
    return f"{num_pictures} picture" + ("" if num_pictures == 1 else "s")
