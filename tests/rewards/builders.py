"""Replies and truths for the reward tests, and one pair that most of them share.

Example: `compare(reply_text((0.0, 4.0, "Joy", "...")), TRUTH)` is a `Comparison`.

`TRUTH` is a clip of 9 s: [0, 4] Joy, [4, 9] Fear, with reasons of 120 distinct words, the length at
which equation 8 gives 1.0.
"""

import json
from collections.abc import Sequence

from affect.parsing import parse_reply
from affect.timeline import Segment, Timeline
from rewards.comparison import Comparison

SegmentValues = tuple[object, object, object, object]


def long_reason(cue: str, num_words: int = 120, topic: str = "detail") -> str:
    """A reason of `num_words` words, all distinct, that begins with a cue of its label."""
    return " ".join([cue, *(f"{topic}{index}" for index in range(num_words - 1))])


JOY = long_reason("joy", topic="dance")
FEAR = long_reason("fear", topic="shadow")
TRUTH = Timeline((Segment(0.0, 4.0, "Joy", JOY), Segment(4.0, 9.0, "Fear", FEAR)), 9.0)


def timeline(*segments: tuple[float, float, str, str]) -> Timeline:
    """A true timeline; its duration is the last end."""
    return Timeline(tuple(Segment(*values) for values in segments), segments[-1][1])


def reply_text(*segments: SegmentValues) -> str:
    """The JSON text of a reply; values are written as they are, also wrong ones."""
    keys = ("start_time", "end_time", "emotion", "reason")
    return json.dumps({"segments": [dict(zip(keys, values, strict=True)) for values in segments]})


def compare(
    text: str, truth: Timeline = TRUTH, num_tokens: int | None = 300, prompt_text: str = ""
) -> Comparison:
    """A reply parsed and put beside a truth."""
    return Comparison(parse_reply(text, truth.duration_seconds, num_tokens), truth, prompt_text)


def times(*boundaries: float, emotions: Sequence[str] = ("Joy", "Fear", "Anger", "Joy")) -> str:
    """A reply of touching segments between the boundaries, with long reasons of their own."""
    return reply_text(
        *(
            (start, end, emotion, long_reason(emotion.lower(), topic=f"topic{index}x"))
            for index, (start, end, emotion) in enumerate(
                zip(boundaries, boundaries[1:], emotions, strict=False)
            )
        )
    )
