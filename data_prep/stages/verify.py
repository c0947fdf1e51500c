"""Verify: spans that no visual cut bounds are looked at again, and divided or joined.

    Integrity(span=Span(3.2, 7.5), verdict="split", split_seconds=(5.1,), reason="...", depth=0)

Section 3.3 of the paper. A boundary without a cut rests on a model's feeling for time alone, so
another model is asked whether each span beside one is a complete event. `max_depth` bounds the
recursion: what was divided or joined that often is taken as it is and shown no more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from affect.frozen import Frozen
from affect.llm.chat import Frames, Models, Question
from affect.llm.quoted import quoted
from affect.llm.told_pictures import shown
from affect.prompts import render_prompt
from affect.timeline import MAX_SEGMENTS
from data_prep.build.config import VerifySection
from data_prep.clip import Clip
from data_prep.records import MIN_SEGMENT_SECONDS, Cut, Integrity, Looked, Snapped, Span, Verified
from data_prep.stages.lengths import are_long_enough, cut_at
from data_prep.stages.parts import seconds
from data_prep.stages.snap import joined_events
from data_prep.stages.stage import stage

MAX_SPLITS = 8
"""Of one span, at one look."""


class VerifyReply(Frozen):
    reason: Annotated[str, Field(min_length=1, max_length=600)]
    verdict: Literal["complete", "split", "merge_before", "merge_after"]
    split_seconds: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(max_length=MAX_SPLITS, description="Empty unless the verdict is split."),
    ]


@dataclass(frozen=True)
class Piece:
    """A span on the way. depth: how often it was divided or joined; is_settled: asked about
    already, with the answer that it is complete."""

    span: Span
    depth: int = 0
    is_settled: bool = False


@stage(prompts=("build_verify",), roles=("verify",))
async def verify(
    looked: Looked, clip: Clip, snapped: Snapped, settings: VerifySection, models: Models
) -> Verified:
    """Always the first span in time that is still to be shown, until there is none.

    It ends: every answer but `complete` replaces spans by deeper ones, none deeper than `max_depth`
    is shown, and none is divided below the shortest segment. A joined span counts as one deeper
    than the deeper of its two, and is shown again even if one of them had been found complete.

    Raises StageFailure (`frames_lost`) and ModelFailure.
    """
    pieces = [Piece(span) for span in snapped.spans]
    checks: list[Integrity] = []
    author: str | None = None
    while (number := _next_to_show(pieces, looked, settings.max_depth)) is not None:
        piece = pieces[number]
        frames = clip.span(piece.span.start_seconds, piece.span.end_seconds, settings.max_frames)
        question = _question(pieces, number, looked, frames, settings)
        answer = await models.ask(
            "verify", question, VerifyReply, _check_for(pieces, number, looked.cuts)
        )
        reply, author = answer.value, answer.model
        checks.append(
            Integrity(
                span=piece.span,
                verdict=reply.verdict,
                split_seconds=reply.split_seconds,
                reason=reply.reason,
                depth=piece.depth,
            )
        )
        pieces = _after(pieces, number, reply, looked.cuts)
    spans = tuple(piece.span for piece in pieces)
    return Verified(spans=spans, checks=tuple(checks), author=author)


def is_between_cuts(span: Span, looked: Looked) -> bool:
    """Whether both its boundaries lie on a visual cut or at an end of the clip."""
    return all(
        time <= 0 or time >= looked.duration_seconds or cut_at(looked.cuts, time) is not None
        for time in (span.start_seconds, span.end_seconds)
    )


def split_times(
    span: Span, split_seconds: Sequence[float], cuts: Sequence[Cut]
) -> tuple[float, ...]:
    """Start, splits and end of a span; a split that means a cut, in its one decimal, is there."""
    inner = [
        time if (cut := cut_at(cuts, time)) is None else cut.time_seconds for time in split_seconds
    ]
    return (span.start_seconds, *inner, span.end_seconds)


def _next_to_show(pieces: Sequence[Piece], looked: Looked, max_depth: int) -> int | None:
    for number, piece in enumerate(pieces):
        is_open = not piece.is_settled and piece.depth < max_depth
        if is_open and not is_between_cuts(piece.span, looked):
            return number
    return None


def _question(
    pieces: Sequence[Piece],
    number: int,
    looked: Looked,
    frames: Frames,
    settings: VerifySection,
) -> Question:
    span = pieces[number].span
    inside = [
        seconds(cut.time_seconds)
        for cut in looked.cuts
        if span.start_seconds < cut.time_seconds < span.end_seconds
    ]

    def event(place: int) -> str:
        if not 0 <= place < len(pieces):
            return "nothing; the clip " + ("begins here" if place < 0 else "ends here")
        return quoted(pieces[place].span.event)

    prompt = render_prompt(
        "build_verify",
        segment=f"S_{number + 1}",
        start=seconds(span.start_seconds),
        end=seconds(span.end_seconds),
        duration=seconds(looked.duration_seconds),
        event=event(number),
        event_before=event(number - 1),
        event_after=event(number + 1),
        cuts=", ".join(inside) or "none",
        min_length=seconds(MIN_SEGMENT_SECONDS),
        max_splits=str(MAX_SPLITS),
    )
    pictures = shown(frames, f"S_{number + 1}")
    return Question("verify", (prompt, *pictures), settings.max_tokens)


def _check_for(
    pieces: Sequence[Piece], number: int, cuts: Sequence[Cut]
) -> Callable[[VerifyReply], None]:
    span = pieces[number].span

    def check(reply: VerifyReply) -> None:
        if (reply.verdict == "split") != bool(reply.split_seconds):
            raise ValueError("split_seconds holds times exactly where the verdict is split")
        if reply.verdict == "merge_before" and number == 0:
            raise ValueError("merge_before is not possible: the stretch begins with the clip")
        if reply.verdict == "merge_after" and number == len(pieces) - 1:
            raise ValueError("merge_after is not possible: the stretch ends with the clip")
        if reply.verdict != "split":
            return
        if len(pieces) + len(reply.split_seconds) > MAX_SEGMENTS:
            raise ValueError(f"no clip has more than {MAX_SEGMENTS} segments; split less")
        if not are_long_enough(split_times(span, reply.split_seconds, cuts)):
            raise ValueError(
                f"split_seconds must ascend within {span.start_seconds:.1f} to "
                f"{span.end_seconds:.1f} and leave at least {MIN_SEGMENT_SECONDS} s on either side "
                "of each; a stretch too short for that is complete or is merged"
            )

    return check


def _after(
    pieces: Sequence[Piece], number: int, reply: VerifyReply, cuts: Sequence[Cut]
) -> list[Piece]:
    """The pieces when a checked answer about one of them is followed."""
    piece = pieces[number]
    if reply.verdict == "complete":
        return [*pieces[:number], Piece(piece.span, piece.depth, True), *pieces[number + 1 :]]
    if reply.verdict == "split":
        times = split_times(piece.span, reply.split_seconds, cuts)
        parts = [
            Piece(
                Span(start_seconds=start, end_seconds=end, event=piece.span.event), piece.depth + 1
            )
            for start, end in pairwise(times)
        ]
        return [*pieces[:number], *parts, *pieces[number + 1 :]]
    first = number - 1 if reply.verdict == "merge_before" else number
    left, right = pieces[first], pieces[first + 1]
    joined = Span(
        start_seconds=left.span.start_seconds,
        end_seconds=right.span.end_seconds,
        event=joined_events(left.span.event, right.span.event)
        if left.span.event != right.span.event
        else left.span.event,
    )
    depth = max(left.depth, right.depth) + 1
    return [*pieces[:first], Piece(joined, depth), *pieces[first + 2 :]]
