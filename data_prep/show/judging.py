"""The part of a video's story that reasons and judges write: candidates, pairs, scores, decision.

    judging_tables(story)
    -> [Table("Candidates", ...), Table("Reason, round 0, segment 0: 0.00 to 3.00 s", ...), ...]

A video that has been decided is told by its rounds; before that, by what its stages left.
"""

from collections.abc import Sequence

from affect.judge_dimensions import JUDGE_DIMENSIONS
from data_prep.records import Decided, Judged, Judgement, Reasoned, Reasoning
from data_prep.show.story import VideoStory
from data_prep.show.table import Table, span_text


def judging_tables(story: VideoStory) -> list[Table]:
    reasoned, judged, decided = story.get(Reasoned), story.get(Judged), story.get(Decided)
    tables = []
    if reasoned is not None or (decided is not None and decided.provenance == "draft"):
        tables.append(_candidates(story))
    if decided is not None and decided.rounds:
        for number, one in enumerate(decided.rounds):
            tables += _reasons(one.segments, number)
            tables.append(_scores(one.judgements, number, one.failed_segments))
    elif reasoned is not None:
        tables += _reasons(reasoned.segments, 0)
        if judged is not None:
            tables.append(_scores(judged.judgements, 0, None))
    if decided is not None:
        tables.append(_decision(decided, story.stage))
    return tables


def _candidates(story: VideoStory) -> Table:
    if story.candidates is None:
        note = f"unknown: {story.why_no_candidates}"
    else:
        note = (
            ", ".join(story.candidates.emotions) or "no label file names any: all 27 may be taken"
        )
    return Table("Candidates, strongest first", notes=(note,))


def _reasons(segments: Sequence[Reasoning], round_number: int) -> list[Table]:
    """One table per segment: all pairs, and which was picked."""
    tables = []
    for number, one in enumerate(segments):
        rows = tuple(
            (
                "picked" if index == one.picked else "",
                pair.emotion,
                pair.evidence,
                pair.appraisal,
                pair.trigger,
                pair.reason,
            )
            for index, pair in enumerate(one.pairs)
        )
        notes = [f"description: {one.description}"]
        if len(one.merged_spans) > 1:
            joined = ", ".join(span_text(span) for span in one.merged_spans)
            notes.append(f"equal emotions joined {joined}")
        title = f"Reason, round {round_number}, segment {number}: {span_text(one.span)}"
        columns = ("", "emotion", "visual evidence", "contextual appraisal", "trigger", "reason")
        tables.append(Table(title, columns, rows, tuple(notes)))
    return tables


def _scores(
    judgements: Sequence[tuple[Judgement, Judgement]],
    round_number: int,
    failed: Sequence[int] | None,
) -> Table:
    rows = tuple(
        (
            f"{number}",
            one.judge,
            *(f"{one.scores[name]:g}" for name in JUDGE_DIMENSIONS),
            f"{one.mean:.2f}",
            one.feedback,
        )
        for number, both in enumerate(judgements)
        for one in both
    )
    if failed is None:
        notes: tuple[str, ...] = ("not decided yet",)
    elif failed:
        notes = (f"below the threshold: segments {', '.join(str(number) for number in failed)}",)
    else:
        notes = ("every segment passed",)
    names = tuple(name.replace("_", " ") for name in JUDGE_DIMENSIONS)
    return Table(
        f"Judge, round {round_number}",
        ("segment", "judge", *names, "mean", "feedback"),
        rows,
        notes,
    )


_PROVENANCES = {
    "verified": "verified by two judges",
    "draft": "a draft from the picture alone, verified by nobody",
    "rendered": "the drawn world's own truth",
}


def _decision(decided: Decided, stage: str) -> Table:
    rows = tuple(
        (
            f"{number}",
            f"{one.start_seconds:.2f} to {one.end_seconds:.2f} s",
            one.emotion,
            one.reason,
        )
        for number, one in enumerate(decided.segments)
    )
    if decided.rejection is None:
        note = _PROVENANCES[decided.provenance]
    else:
        note = f"rejected: {decided.rejection}"
    title = f"Final segments, by {stage}"
    return Table(title, ("segment", "span", "emotion", "reason"), rows, (note,))
