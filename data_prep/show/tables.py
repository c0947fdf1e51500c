"""A video's story as tables, stage by stage, for whoever prints or draws them.

    tables_of(story)[1]
    -> Table("Look: cuts and fades", ("time", "kind"), (("3.00 s", "cut"),), notes=())

Stages that the video has not come to have no table. Cells are plain text, as models wrote it.
"""

from data_prep.records import (
    Described,
    Grounded,
    Looked,
    Proposed,
    Selected,
    Snapped,
    Tagged,
    Verified,
)
from data_prep.show.judging import judging_tables
from data_prep.show.story import VideoStory
from data_prep.show.table import Table, number_text, seconds_text, span_text


def tables_of(story: VideoStory) -> tuple[Table, ...]:
    """From the file to what its calls cost, in the order of the stages."""
    parts = (
        [_file(story)],
        _looked(story.get(Looked)),
        _selected(story.get(Selected), story.get(Looked)),
        _proposed(story.get(Proposed)),
        _snapped(story.get(Snapped)),
        _verified(story.get(Verified)),
        _described(story.get(Grounded) or story.get(Described)),
        _grounded(story.get(Grounded)),
        _tagged(story.get(Tagged)),
        judging_tables(story),
        _costs(story),
        _failures(story),
    )
    return tuple(table for part in parts for table in part)


def headline(story: VideoStory) -> str:
    """What became of the video, in one sentence."""
    match story.state:
        case "done":
            return f"done, by {story.stage}"
        case "rejected":
            return f"rejected by {story.stage}: {story.kind}"
        case "failed":
            return f"failed in {story.stage}: {story.kind}"
        case "running":
            return f"not finished; {story.stage} is the last stage that is done"
        case _:
            return f"waiting{': ' if story.detail else ''}{story.detail}"


def _file(story: VideoStory) -> Table:
    facts = [("SHA-256", story.sha256 or "not read yet"), ("size", f"{story.size_bytes:,} bytes")]
    looked = story.get(Looked)
    if looked is not None:
        facts += [
            ("container", looked.mime_type),
            ("codec", looked.codec),
            ("picture", f"{looked.width} x {looked.height} pixels"),
            ("length", f"{looked.num_frames:,} frames, {looked.duration_seconds:.3f} s"),
            ("perceptual hash", looked.perceptual_hash),
            ("frames kept", f"{len(looked.frame_times_seconds)}"),
            ("decode passes", f"{looked.num_decode_passes}"),
        ]
    notes = [story.detail] if story.state == "failed" and story.detail else []
    return Table("File", ("fact", "value"), tuple(facts), tuple(notes))


def _looked(looked: Looked | None) -> list[Table]:
    if looked is None:
        return []
    rows = tuple((f"{cut.time_seconds:.2f} s", cut.kind) for cut in looked.cuts)
    notes = () if rows else ("none was found",)
    return [Table("Look: cuts and fades", ("time", "kind"), rows, notes)]


def _selected(selected: Selected | None, looked: Looked | None) -> list[Table]:
    if looked is None:
        return []
    motion = looked.motion
    rows = (
        ("hash distance of neighbours", f"{number_text(motion.mean_hash_distance)} of 64 bits"),
        ("optical flow", f"{number_text(motion.mean_flow_pixels)} pixels"),
        ("time standing still", f"{motion.still_share:.0%}"),
    )
    if selected is None:
        verdict = "not decided yet"
    else:
        verdict = f"rejected: {selected.rejection}" if selected.rejection else "kept"
    return [Table("Select", ("measure", "value"), rows, (verdict,))]


def _proposed(proposed: Proposed | None) -> list[Table]:
    if proposed is None:
        return []
    rows = tuple((span_text(span), span.event) for span in proposed.spans)
    return [Table(f"Propose, by {proposed.author}", ("span", "event"), rows)]


def _snapped(snapped: Snapped | None) -> list[Table]:
    if snapped is None:
        return []
    rows = tuple(
        (
            f"{snap.before_seconds:.2f} s",
            "gone" if snap.after_seconds is None else f"{snap.after_seconds:.2f} s",
            "none" if snap.cut is None else f"{snap.cut.kind} at {snap.cut.time_seconds:.2f} s",
            snap.outcome,
        )
        for snap in snapped.snaps
    )
    notes = () if rows else ("there was no inner boundary",)
    return [Table("Snap", ("before", "after", "near", "outcome"), rows, notes)]


def _verified(verified: Verified | None) -> list[Table]:
    if verified is None:
        return []
    rows = tuple(
        (
            span_text(check.span),
            f"{check.depth}",
            check.verdict.replace("_", " "),
            ", ".join(f"{second:.2f} s" for second in check.split_seconds),
            check.reason,
        )
        for check in verified.checks
    )
    author = verified.author or "nobody"
    spans = ", ".join(span_text(span) for span in verified.spans)
    notes: tuple[str, ...] = (f"spans that it left: {spans}",)
    if verified.author is None:
        notes = ("every boundary lies on a cut, so nobody was asked", *notes)
    columns = ("span", "depth", "verdict", "at", "reason")
    return [Table(f"Verify, by {author}", columns, rows, notes)]


def _described(described: Described | Grounded | None) -> list[Table]:
    if described is None:
        return []
    rows = tuple(
        (f"{number}", span_text(one.span), one.text, ", ".join(one.entities))
        for number, one in enumerate(described.descriptions)
    )
    by = f", by {described.author}" if isinstance(described, Described) else " (after grounding)"
    return [Table(f"Describe{by}", ("segment", "span", "description", "entities"), rows)]


def _grounded(grounded: Grounded | None) -> list[Table]:
    if grounded is None:
        return []
    if grounded.grounder is None:
        return [Table("Ground", notes=("no detector is configured: nothing was checked",))]
    rows = tuple(
        (
            f"{check.segment}",
            f"{check.rewrite}",
            found.entity,
            "not found" if found.score is None else f"{found.score:.2f}",
            "" if found.time_seconds is None else f"{found.time_seconds:.2f} s",
            "ungrounded" if found.entity in check.ungrounded else "grounded",
        )
        for check in grounded.checks
        for found in check.detections
    )
    columns = ("segment", "rewrite", "entity", "score", "time", "verdict")
    return [Table(f"Ground, by {grounded.grounder}", columns, rows)]


def _tagged(tagged: Tagged | None) -> list[Table]:
    if tagged is None:
        return []
    return [Table(f"Tag, by {tagged.author}", ("genre", "scene"), ((tagged.genre, tagged.scene),))]


def _costs(story: VideoStory) -> list[Table]:
    rows = tuple(
        (
            cost.stage,
            seconds_text(cost.seconds),
            f"{cost.num_requests:,}",
            f"{cost.num_failed_requests:,}",
            f"{cost.num_cached:,}",
            *(
                number_text(value) if cost.num_requests else ""
                for value in (cost.prompt_tokens, cost.completion_tokens, cost.cost)
            ),
        )
        for cost in story.costs
    )
    columns = (
        "stage", "time", "requests", "of these failed", "from cache", "prompt tokens",
        "reply tokens", "cost",
    )  # fmt: skip
    return [Table("Time and calls", columns, rows)] if rows else []


def _failures(story: VideoStory) -> list[Table]:
    rows = tuple((f.stage, f.kind, f"{f.count}", f.detail) for f in story.failures)
    columns = ("stage", "kind", "times", "detail")
    return [Table("Failures, in all runs", columns, rows)] if rows else []
