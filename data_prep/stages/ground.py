"""Ground: what a description names must be found in its pictures, or it is written anew.

    Grounding(segment=1, rewrite=0, detections=(...), ungrounded=("red ball",))

Section 3.3 of the paper: Grounding DINO as a filter against what only a language model saw. A
description with an entity below the score goes back to its author with the names that were not
found, at most `max_rewrites` times; if one is still missing, the video is rejected (`ungrounded`).

D_(i+1) says what is new against D_i. So once D_i is written anew, D_(i+1) no longer fits and is
written anew from the changed D_i, before it is checked; and so on to the last.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from affect.llm.chat import Models
from data_prep.build.config import DescribeSection, GroundSection
from data_prep.clip import Clip
from data_prep.grounder import Grounder
from data_prep.records import Described, Description, Grounded, Grounding
from data_prep.stages.differential import PROMPTS, describe_span
from data_prep.stages.stage import stage

_DETECTING = ThreadPoolExecutor(1, thread_name_prefix="detector")
"""A detector computes for a second, and for one video at a time. Videos that queue for it
must hold neither the event loop nor the threads in which others' replies are kept."""


@stage(prompts=PROMPTS, roles=("describe",))
async def ground(
    clip: Clip,
    described: Described,
    settings: GroundSection,
    describing: DescribeSection,
    grounder: Grounder,
    models: Models,
) -> Grounded:
    """The descriptions as they stand after their checks.

    A rejected record ends with the description that could not be grounded; those after it were not
    looked at. Without a grounder everything passes unchecked and the record says so.

    Raises StageFailure (`frames_lost`) and ModelFailure.
    """
    name = grounder.name
    if name is None:
        return Grounded(descriptions=described.descriptions, checks=(), grounder=None)
    duration_seconds = described.descriptions[-1].span.end_seconds
    grounded: list[Description] = []
    checks: list[Grounding] = []
    is_changed_before = False
    for place, original in enumerate(described.descriptions):
        before = grounded[-1] if grounded else None
        current = original
        if is_changed_before:
            current, _ = await describe_span(
                place + 1, original.span, duration_seconds, before, clip, describing, models
            )
        for rewrite in range(settings.max_rewrites + 1):
            check = await _checked(place, rewrite, current, clip, settings, grounder)
            checks.append(check)
            if not check.ungrounded or rewrite == settings.max_rewrites:
                break
            current, _ = await describe_span(
                place + 1,
                original.span,
                duration_seconds,
                before,
                clip,
                describing,
                models,
                refused=current,
                not_found=check.ungrounded,
                seed=rewrite + 1,
            )
        grounded.append(current)
        if check.ungrounded:
            return Grounded(
                descriptions=tuple(grounded),
                checks=tuple(checks),
                grounder=name,
                rejection="ungrounded",
            )
        is_changed_before = current != original
    return Grounded(descriptions=tuple(grounded), checks=tuple(checks), grounder=name)


async def _checked(
    place: int,
    rewrite: int,
    description: Description,
    clip: Clip,
    settings: GroundSection,
    grounder: Grounder,
) -> Grounding:
    span = description.span
    frames = clip.span(span.start_seconds, span.end_seconds, settings.max_frames)
    detections = await asyncio.get_running_loop().run_in_executor(
        _DETECTING, grounder.detect, frames, description.entities
    )
    assert tuple(found.entity for found in detections) == description.entities
    ungrounded = tuple(
        found.entity
        for found in detections
        if found.score is None or found.score < settings.min_score
    )
    return Grounding(
        segment=place, rewrite=rewrite, detections=tuple(detections), ungrounded=ungrounded
    )
