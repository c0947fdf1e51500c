"""What an audit plays with: annotated clips, policies that answer them, and the text of a reply.

Example::

    clips = read_clips(Path("my/train.sft.jsonl"))
    always_joy = Policy("always_joy", False, "one segment of Joy", lambda clip: segments_to_json(
        [Segment(0.0, clip.duration_seconds, "Joy", "They dance, and the viewer is glad.")]
    ))
    always_joy.answer(clips[0])
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from affect.jsonl import numbered_jsonl
from affect.parsing import ParsedReply, parse_reply
from affect.records import read_rows
from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import Segment, Timeline
from rewards.trl_adapter import prompt_text, read_truth

# An audit has no tokenizer, and needs |o| of equation 4 only to see whether a reply is far beyond
# 1,200 tokens. English JSON has about so many characters per token of Qwen2.5.
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class AuditClip:
    """One annotated clip; `answer` is its true reply as it stands in the file."""

    id: str
    truth: Timeline
    answer: str
    prompt_text: str

    @property
    def duration_seconds(self) -> float:
        """What the prompt states, so that also a policy without the video knows it."""
        return self.truth.duration_seconds


@dataclass(frozen=True, slots=True)
class Policy:
    """A way to answer; `sees_video` tells whether it makes use of the clip's own truth."""

    name: str
    sees_video: bool
    meaning: str
    answer: Callable[[AuditClip], str]


def read_clips(path: Path) -> list[AuditClip]:
    """The annotated clips of a file of rows, in its order.

    Raises ValueError as `FILE:LINE: FIELD: what is wrong`; a row without an answer is wrong here.
    """
    clips = []
    for number, row in enumerate(read_rows(path)):
        if row.timeline is None:
            line = [line for line, _ in numbered_jsonl(path)][number]
            raise ValueError(
                f"{path}:{line}: conversations: row {row.id!r} has no answer (the turn of `gpt`, "
                "or `solution`); an audit needs the truth of every row"
            )
        # The truth is read just as the trainer reads it.
        answer = row.stored_answer or row.timeline.to_json()
        truth = read_truth(answer, row.duration_seconds, f"{path}: row {row.id}")
        clips.append(AuditClip(row.id, truth, answer, prompt_text(row.prompt)))
    if not clips:
        raise ValueError(f"{path}: there is no row in it")
    return clips


def read_reply(text: str, clip: AuditClip) -> ParsedReply:
    """A reply to a clip, parsed as in training, with its tokens counted from its characters."""
    return parse_reply(
        text,
        clip.duration_seconds,
        math.ceil(len(text) / CHARACTERS_PER_TOKEN),
        tolerance_seconds=clip.truth.tolerance_seconds,
    )


def rarest_emotions(truth: Timeline) -> list[str]:
    """Two emotions that the truth doesn't have (or has least often, if it has nearly all)."""
    there = Counter(segment.emotion for segment in truth.segments)
    return sorted(DAR_EMOTIONS, key=there.__getitem__)[:2]


def cover(
    duration_seconds: float,
    cuts: Sequence[float],
    emotions: Sequence[str],
    reasons: Sequence[str],
) -> list[Segment]:
    """Segments that cover a clip, cut at fractions of its duration, times with one decimal.

    Cuts that fall together on a short clip leave fewer segments, and its last emotions unused.
    """
    end = round(duration_seconds, 1) or duration_seconds
    inner = {round(cut * duration_seconds, 1) for cut in cuts}
    edges = [0.0, *sorted(edge for edge in inner if 0.0 < edge < end), end]
    return [
        Segment(start, stop, emotion, reason)
        for (start, stop), emotion, reason in zip(pairwise(edges), emotions, reasons, strict=False)
    ]
