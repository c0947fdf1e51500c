"""Clips, descriptions and replies for the tests of reason, judge and decide.

clip = make_clip(tmp_path)
models = ScriptedModels(replies(["Fear", "Relief"]))
record = asyncio.run(reason.function(clip, make_grounded(2), Candidates(), SETTINGS, models))
"""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from affect.judge_dimensions import JUDGE_DIMENSIONS
from affect.llm.chat import Frame, Frames, Question
from data_prep.build.config import ReasonSection
from data_prep.clip import Clip, write_pack
from data_prep.records import Description, EmotionReason, Grounded, Judgement, Reasoning, Span

SETTINGS = ReasonSection(num_pairs=2, min_words=3, max_words=12)
SPAN_SECONDS = 1.0

Answer = Callable[[str, Question, int], str]


def make_clip(folder: Path, num_spans: int = 8) -> Clip:
    """A clip whose pack has two frames per span; a frame's bytes say when it is shown."""
    times = [n * SPAN_SECONDS / 2 for n in range(2 * num_spans)]
    pack = folder / "pack.zip"
    write_pack(pack, [Frame(time, f"at {time}".encode()) for time in times])
    return Clip(folder / "clip.mp4", "0" * 64, "video/mp4", pack)


def make_span(index: int) -> Span:
    return Span(
        start_seconds=index * SPAN_SECONDS,
        end_seconds=(index + 1) * SPAN_SECONDS,
        event=f"event {index}",
    )


def make_grounded(num_spans: int) -> Grounded:
    descriptions = tuple(
        Description(span=make_span(index), text=f"change {index}", entities=("bird",))
        for index in range(num_spans)
    )
    return Grounded(descriptions=descriptions, checks=(), grounder=None)


def pair(emotion: str, reason: str) -> dict[str, str]:
    return {
        "evidence": "a shadow",
        "appraisal": "it may strike",
        "trigger": "it moves",
        "emotion": emotion,
        "reason": reason,
    }


def reason_reply(emotion: str, note: str = "") -> str:
    """Two pairs, the second of which is picked."""
    reason = f"A shadow moves: {emotion.lower()} {note}".strip()
    return json.dumps(
        {"pairs": [pair(emotion, f"Not this one: {reason}"), pair(emotion, reason)], "picked": 1}
    )


def judge_reply(score: int, feedback: str = "Name the bird.", **scores: int) -> str:
    return json.dumps({"feedback": feedback, **dict.fromkeys(JUDGE_DIMENSIONS, score), **scores})


def replies(emotions: Iterable[str]) -> Answer:
    """The reasoner's emotions, one per question; whatever the question is."""
    rest = iter(emotions)

    def answer(role: str, question: Question, num_ask: int) -> str:
        assert role == "reason"
        return reason_reply(next(rest), f"no. {num_ask}")

    return answer


def texts_of(question: Question) -> str:
    return "\n".join(part for part in question.parts if isinstance(part, str))


def times_shown(question: Question) -> list[list[float]]:
    """Per group of pictures, when they are shown."""
    groups = [part for part in question.parts if isinstance(part, Frames)]
    return [[frame.time_seconds for frame in group.frames] for group in groups]


def make_reasoning(index: int, emotion: str, reason: str = "A shadow moves.") -> Reasoning:
    chosen = EmotionReason(**pair(emotion, reason))
    return Reasoning(
        span=make_span(index),
        description=f"change {index}",
        pairs=(chosen,),
        picked=0,
        merged_spans=(make_span(index),),
    )


def make_judgement(judge: str, scores: float | Sequence[float]) -> Judgement:
    listed = [scores] * 5 if isinstance(scores, int | float) else list(scores)
    named = dict(zip(JUDGE_DIMENSIONS, map(float, listed), strict=True))
    return Judgement(judge=judge, scores=named, feedback=f"{judge} says so")
