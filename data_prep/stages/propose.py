"""Propose: the first look at a whole clip, where its story or its mood turns.

    Proposed(spans=(Span(0.0, 3.2, "A bird hops to a puddle."), Span(3.2, 5.28, "...")), author=...)

Section 3.3 of the paper, stage 1: narrative shifts and affective turning points, as seconds. No
emotion is given and none comes back: the label is the reasoner's, from the candidates.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from pydantic import Field

from affect.frozen import Frozen
from affect.llm.chat import Models, Question
from affect.llm.told_pictures import shown
from affect.prompts import render_prompt
from affect.taxonomy import DAR_SPELLINGS
from affect.timeline import BOUNDARY_TOLERANCE_SECONDS, is_blank
from data_prep.build.config import ProposeSection
from data_prep.clip import Clip
from data_prep.records import MIN_SEGMENT_SECONDS, Looked, Proposed, Span, StageFailure
from data_prep.stages.lengths import FLOAT_NOISE_SECONDS, is_long_enough
from data_prep.stages.parts import seconds
from data_prep.stages.stage import stage

_LABELS = frozenset(spelling.casefold() for spelling in DAR_SPELLINGS)


class ProposedSegment(Frozen):
    start_seconds: Annotated[float, Field(ge=0)]
    end_seconds: Annotated[float, Field(gt=0)]
    event: Annotated[str, Field(min_length=3, max_length=400, description="What is seen.")]


class ProposeReply(Frozen):
    segments: Annotated[tuple[ProposedSegment, ...], Field(min_length=1, max_length=256)]


@stage(prompts=("build_propose",), roles=("propose",))
async def propose(looked: Looked, clip: Clip, settings: ProposeSection, models: Models) -> Proposed:
    """Spans from exactly 0 to exactly the clip's duration, each starting where the one before ends.

    A reply's first start, joints and last end may be off by `BOUNDARY_TOLERANCE_SECONDS`, since
    they are asked for in one decimal (5.3 for a clip of 5.28 s); a joint is where the later segment
    says that it starts. Whatever is further off is refused and asked for again, never repaired.

    Raises StageFailure (`too_short`) for a clip that no segment fits in, and ModelFailure.
    """
    duration_seconds = looked.duration_seconds
    if not is_long_enough(0.0, duration_seconds):
        raise StageFailure(
            "too_short",
            f"the clip lasts {duration_seconds:.3f} s and a segment at least "
            f"{MIN_SEGMENT_SECONDS} s; set select.min_duration_seconds to that or more",
        )
    prompt = render_prompt(
        "build_propose",
        duration=seconds(duration_seconds),
        min_length=seconds(MIN_SEGMENT_SECONDS),
        max_segments=str(settings.max_segments),
    )
    pictures = shown(clip.whole(settings.max_frames), "The clip")
    question = Question("propose", (prompt, *pictures), settings.max_tokens)

    def check(reply: ProposeReply) -> None:
        if len(reply.segments) > settings.max_segments:
            raise ValueError(
                f"{len(reply.segments)} segments are too many; at most {settings.max_segments}"
            )
        check_times(reply.segments, duration_seconds)
        check_events(reply.segments)

    answer = await models.ask("propose", question, ProposeReply, check)
    return Proposed(
        spans=spans_of(answer.value.segments, duration_seconds),
        author=answer.model,
    )


def spans_of(segments: Sequence[ProposedSegment], duration_seconds: float) -> tuple[Span, ...]:
    """The spans that checked segments mean."""
    joints = [segment.start_seconds for segment in segments[1:]]
    times = [0.0, *joints, duration_seconds]
    return tuple(
        Span(start_seconds=start, end_seconds=end, event=segment.event.strip())
        for (start, end), segment in zip(pairwise(times), segments, strict=True)
    )


def check_times(segments: Sequence[ProposedSegment], duration_seconds: float) -> None:
    """Raises ValueError for the first thing that keeps the segments from covering the clip."""
    first, last = segments[0], segments[-1]
    if _differ(first.start_seconds, 0.0):
        raise ValueError(f"segments[0] starts at {first.start_seconds:g}; it must start at 0.0")
    for number, (left, right) in enumerate(pairwise(segments), 1):
        if _differ(left.end_seconds, right.start_seconds):
            raise ValueError(
                f"segments[{number}] starts at {right.start_seconds:g}, but "
                f"segments[{number - 1}] ends at {left.end_seconds:g}; each segment must start "
                "where the one before ends"
            )
    if _differ(last.end_seconds, duration_seconds):
        raise ValueError(
            f"segments[{len(segments) - 1}] ends at {last.end_seconds:g}; the last one must end "
            f"with the clip, at {duration_seconds:.1f}"
        )
    times = [0.0, *(segment.start_seconds for segment in segments[1:]), duration_seconds]
    for number, (start, end) in enumerate(pairwise(times)):
        if not is_long_enough(start, end):
            raise ValueError(
                f"segments[{number}], from {start:g} to {end:g}, is shorter than "
                f"{MIN_SEGMENT_SECONDS} s in one decimal; join it to a neighbour"
            )


def check_events(segments: Sequence[ProposedSegment]) -> None:
    """Raises ValueError for an event that says nothing, or is an emotion's name and no event."""
    for number, segment in enumerate(segments):
        words = segment.event.strip(" \t\n.,;:!\"'*")
        if is_blank(words):
            raise ValueError(f"segments[{number}].event is blank; say what is seen")
        if words.casefold() in _LABELS:
            raise ValueError(
                f"segments[{number}].event is the name of an emotion; say what is seen instead"
            )


def _differ(one_seconds: float, other_seconds: float) -> bool:
    difference = abs(one_seconds - other_seconds)
    return difference > BOUNDARY_TOLERANCE_SECONDS + FLOAT_NOISE_SECONDS
