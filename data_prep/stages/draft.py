"""Draft a clip's timeline from the picture alone, in place of all stages that ask a model.

    Decided(provenance="draft", segments=(FinalSegment(0.0, 3.0, "Calmness", "A draft ..."), ...))

For a person who is about to annotate clips of his own: boundaries and a first guess to correct.
Every row says that it is a draft; no judge sees one, and none counts as verified.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from data_prep.build.config import DraftSection, PictureSection
from data_prep.clip import Clip
from data_prep.draft.boundaries import find_boundaries
from data_prep.draft.measures import Look, Measures, measure_frames
from data_prep.draft.rules import Suggestion, suggest, words_of
from data_prep.records import (
    MIN_SEGMENT_SECONDS,
    Candidates,
    Cut,
    Decided,
    FinalSegment,
    Looked,
)
from data_prep.stages.stage import stage


@dataclass(frozen=True, slots=True)
class Opening:
    """Where a segment begins, and what was seen there: `cut`, `fade`, `colour`, `motion`, or
    `start` of the clip."""

    time_seconds: float
    kind: str


@stage()
async def draft(
    looked: Looked,
    clip: Clip,
    candidates: Candidates,
    settings: DraftSection,
    picture: PictureSection,
) -> Decided:
    """Rejects a clip that is shorter than any segment may be (`too_short`).

    picture: named because the kept frames, which it shapes, are measured here.
    Raises StageFailure (`frames_lost`) where the kept frames cannot be read.
    """
    if looked.duration_seconds < MIN_SEGMENT_SECONDS:
        return Decided(rejection="too_short", provenance="draft", segments=())
    # Off the event loop: unpacking a hundred JPEGs would hold up everything else.
    measures = await asyncio.to_thread(_measure, clip, settings)
    segments = draft_segments(
        measures, looked.cuts, looked.duration_seconds, candidates.emotions, settings
    )
    return Decided(provenance="draft", segments=segments)


def draft_segments(
    measures: Measures,
    cuts: Sequence[Cut],
    duration_seconds: float,
    allowed: Sequence[str],
    settings: DraftSection,
) -> tuple[FinalSegment, ...]:
    """Segments from 0 to the duration, no two neighbours with one emotion.

    Where two neighbours look alike to the rules they become one and are measured again, which may
    change its emotion, until none are equal. allowed: the emotions to choose from; () is any.
    """
    found = find_boundaries(measures, cuts, duration_seconds, settings)
    openings = [Opening(0.0, "start")]
    openings += [Opening(boundary.time_seconds, boundary.kind) for boundary in found]
    while True:
        ends = [*(opening.time_seconds for opening in openings[1:]), duration_seconds]
        looks = [
            measures.look(opening.time_seconds, end)
            for opening, end in zip(openings, ends, strict=True)
        ]
        chosen = [suggest(words_of(look), allowed) for look in looks]
        differs = [True, *(a.emotion != b.emotion for a, b in pairwise(chosen))]
        if all(differs):
            break
        openings = [opening for opening, new in zip(openings, differs, strict=True) if new]
    return tuple(
        FinalSegment(
            start_seconds=opening.time_seconds,
            end_seconds=end,
            emotion=suggestion.emotion,
            reason=_reason(opening, end, look, suggestion),
        )
        for opening, end, look, suggestion in zip(openings, ends, looks, chosen, strict=True)
    )


def _measure(clip: Clip, settings: DraftSection) -> Measures:
    return measure_frames(clip.span(0.0, float("inf"), settings.max_frames))


_BEGINS = {
    "start": "It begins with the clip.",
    "cut": "It begins at a cut.",
    "fade": "It begins at a fade.",
    "colour": "It begins where the colours change.",
    "motion": "It begins where the pace changes.",
}


def _reason(opening: Opening, end_seconds: float, look: Look, suggestion: Suggestion) -> str:
    """What was measured, by which rule it means something, and that nobody has verified it."""
    words = ", ".join(words_of(look)) or "in no way remarkable"
    motion = "not measured (one frame)" if look.motion is None else f"{look.motion:.2f}"
    if suggestion.rule is None:
        why = f"No rule names a labelled emotion; the strongest label, {suggestion.emotion}, stays."
    else:
        why = f'By the rule "{suggestion.rule}" the viewer may feel {suggestion.emotion}.'
    return (
        f"A draft from the picture alone that nobody has verified. {_BEGINS[opening.kind]} "
        f"From {opening.time_seconds:.1f} s to {end_seconds:.1f} s the picture is {words}: "
        f"brightness {look.brightness:.2f}, contrast {look.contrast:.2f}, saturation "
        f"{look.saturation:.2f}, warmth {look.warmth:.2f}, motion {motion}. {why}"
    )
