"""Somebody's annotations as rows, so that they can be predicted and scored like our own.

    imported = rows_from(Path("theirs.csv"), Path("videos"))
    write_sft_rows(Path("rows.jsonl"), imported.rows)

A truth must be a whole timeline of the 27 emotions: what leaves gaps, overlaps, or uses another
label is refused by file and line, never filled in. A clip's duration is found by decoding it where
the file does not give it. A segment without a reason gets the text `NO_REASON`, and its row counts
them in `num_reasons_missing`; such rows can be predicted and scored, and teach nothing about
reasons.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tqdm import tqdm

from affect.config.strict_yaml import read_yaml_mapping
from affect.prompts import segment_prompt_text
from affect.records import Row, prompt_from_text
from affect.row import check_duration
from affect.taxonomy import DAR_EMOTIONS, canonical_dar_emotion
from affect.timeline import (
    RELEASED_TOLERANCE_SECONDS,
    Segment,
    Timeline,
    is_blank,
    segments_to_json,
    timeline_faults,
)
from affect.video import DECODE_TIMEOUT_SECONDS, GuardedReader
from evaluation.foreign.annotation_files import Annotation, StatedSegment, read_annotations
from evaluation.foreign.video_files import FoundVideo, find_video

NO_REASON = "(no reason was given)"
"""Stands where an annotation gives none: a timeline has no place for nothing."""
MISSING_REASONS = "num_reasons_missing"
"""Field of a row that has segments without a reason."""
MAX_LISTED = 20
_INDEX = re.compile(r"segments\[(\d+)\]")


@dataclass(frozen=True)
class ImportedAnnotations:
    """rows: in the file's order. The rest counts what was done to get them.

    num_decoded: clips whose duration was found by decoding. num_merged: segments that went into
    the one before. mapped_labels: how often each label of theirs was mapped to another.
    """

    rows: Sequence[Row]
    num_segments: int
    num_reasons_missing: int
    num_decoded: int
    num_merged: int
    mapped_labels: Counter[str]


@dataclass
class _Clip:
    """One video on its way to a row; fields are filled in step by step."""

    stated: Annotation
    found: FoundVideo | None = None
    segments: list[StatedSegment] = field(default_factory=list)
    num_merged: int = 0
    duration_seconds: float | None = None
    row: Row | None = None


def rows_from(
    path: Path,
    video_root: Path,
    *,
    label_map: Mapping[str, str] | None = None,
    merge_equal: bool = False,
    reader: GuardedReader | None = None,
    show_progress: bool = True,
) -> ImportedAnnotations:
    """Annotated rows of a CSV or JSON file (`evaluation.foreign.annotation_files`).

    Args:
        video_root: where the file's video paths start. A video may be named without its ending.
        label_map: their label -> one of the 27 (`read_label_map`); labels that are not in it must
            be one of the 27 already.
        merge_equal: make one segment of neighbours with the same emotion, their reasons joined.
        reader: decodes the clips whose duration is not given.

    Raises:
        ValueError: with a line `FILE:LINE: what is wrong` for each clip at fault, the first
            `MAX_LISTED` of them.
    """
    clips = [_Clip(stated) for stated in read_annotations(path)]
    mapped: Counter[str] = Counter()

    def find(clip: _Clip) -> None:
        clip.found = find_video(video_root, clip.stated.video)

    def label(clip: _Clip) -> None:
        clip.segments = [_labelled(one, label_map or {}, mapped) for one in clip.stated.segments]
        if merge_equal:
            num_stated = len(clip.segments)
            clip.segments = _merged(clip.segments)
            clip.num_merged = num_stated - len(clip.segments)

    def measure(clip: _Clip) -> None:
        assert clip.found is not None
        clip.duration_seconds = _duration(clip.stated, clip.found, reading)

    def finish(clip: _Clip) -> None:
        clip.row = _row(clip)

    # What costs nothing comes first: a wrong label shows before anything is decoded.
    _each(clips, find)
    _each(clips, label)
    reading = reader or GuardedReader(DECODE_TIMEOUT_SECONDS)
    try:
        _each(clips, measure, "durations" if show_progress else None)
    finally:
        if reader is None:
            reading.close()
    _each(clips, finish)
    rows = [clip.row for clip in clips if clip.row is not None]
    _refuse_equal_ids(clips)
    return ImportedAnnotations(
        rows=rows,
        num_segments=sum(len(clip.segments) for clip in clips),
        num_reasons_missing=sum(row.extra.get(MISSING_REASONS, 0) for row in rows),
        num_decoded=sum(clip.stated.duration_seconds is None for clip in clips),
        num_merged=sum(clip.num_merged for clip in clips),
        mapped_labels=mapped,
    )


def read_label_map(path: Path) -> dict[str, str]:
    """A YAML file of `their label: one of the 27`.

    Raises ValueError by file and line for a label that is mapped to none of the 27.
    """
    labels, lines = read_yaml_mapping(path)
    found: dict[str, str] = {}
    for theirs, ours in labels.items():
        canonical = canonical_dar_emotion(ours) if isinstance(ours, str) else None
        if canonical is None:
            raise ValueError(
                f"{path}:{lines[(theirs,)]}: {theirs!r} is mapped to {ours!r}, which is none of "
                f"the 27: {', '.join(DAR_EMOTIONS)}"
            )
        found[theirs] = canonical
    return found


def _each(
    clips: Sequence[_Clip], step: Callable[[_Clip], None], progress: str | None = None
) -> None:
    """Take the step with every clip, then raise what is wrong with all of them."""
    faults: list[str] = []
    for clip in tqdm(clips, desc=progress, unit="clip", disable=progress is None):
        try:
            step(clip)
        except ValueError as error:
            text = str(error)
            # A fault that has a line of its own already keeps it.
            is_placed = text.startswith(f"{clip.stated.place.rpartition(':')[0]}:")
            faults.append(text if is_placed else f"{clip.stated.place}: {text}")
    if faults:
        more = len(faults) - MAX_LISTED
        listed = faults[:MAX_LISTED]
        raise ValueError("\n".join([*listed, f"and {more} more clips"] if more > 0 else listed))


def _labelled(
    segment: StatedSegment, label_map: Mapping[str, str], mapped: Counter[str]
) -> StatedSegment:
    """With one of the 27 in its canonical spelling."""
    if segment.emotion in label_map:
        mapped[segment.emotion] += 1
        return replace(segment, emotion=label_map[segment.emotion])
    canonical = canonical_dar_emotion(segment.emotion)
    if canonical is None:
        raise ValueError(
            f"{segment.place}: emotion {segment.emotion!r:.60} is none of the 27; map it to one of "
            "them with --label-map FILE.yaml"
        )
    return replace(segment, emotion=canonical)


def _merged(segments: Sequence[StatedSegment]) -> list[StatedSegment]:
    """Neighbours of one emotion that touch become one segment."""
    merged: list[StatedSegment] = []
    for segment in segments:
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.emotion == segment.emotion
            and abs(segment.start_seconds - last.end_seconds) <= RELEASED_TOLERANCE_SECONDS
        ):
            reasons = [one for one in (last.reason, segment.reason) if one and not is_blank(one)]
            merged[-1] = replace(
                last, end_seconds=segment.end_seconds, reason=" ".join(reasons) or None
            )
        else:
            merged.append(segment)
    return merged


def _duration(stated: Annotation, found: FoundVideo, reader: GuardedReader) -> float:
    if stated.duration_seconds is not None:
        return check_duration(stated.duration_seconds)
    return reader.probe(found.path).duration_seconds


def _row(clip: _Clip) -> Row:
    stated, found, duration = clip.stated, clip.found, clip.duration_seconds
    assert found is not None and duration is not None
    num_missing = 0
    segments: list[Segment] = []
    for one in clip.segments:
        reason = one.reason
        if reason is None or is_blank(reason):
            reason = NO_REASON
            num_missing += 1
        segments.append(Segment(one.start_seconds, one.end_seconds, one.emotion, reason))
    faults = timeline_faults(segments, duration, RELEASED_TOLERANCE_SECONDS)
    if faults:
        raise ValueError(
            f"{_places(clip, faults)}: {stated.video!r} is not a timeline: {'; '.join(faults[:3])}"
            + (f"; and {len(faults) - 3} more" if len(faults) > 3 else "")
        )
    timeline = Timeline(tuple(segments), duration, RELEASED_TOLERANCE_SECONDS)
    extra = dict(stated.extra)
    source = extra.pop("source", None)
    if num_missing:
        extra[MISSING_REASONS] = num_missing
    return Row(
        id=stated.id or found.video,
        video=found.video,
        duration_seconds=duration,
        source=source,
        prompt=prompt_from_text(segment_prompt_text(duration)),
        timeline=timeline,
        extra=extra,
        stored_answer=segments_to_json(segments),
    )


def _places(clip: _Clip, faults: Sequence[str]) -> str:
    """`FILE:LINE` of the segment that the first fault is about."""
    index = _INDEX.search(faults[0])
    return clip.segments[int(index.group(1))].place if index else clip.stated.place


def _refuse_equal_ids(clips: Sequence[_Clip]) -> None:
    """Two names may be one video: `a` and `a.mp4`."""
    first: dict[str, _Clip] = {}

    def check(clip: _Clip) -> None:
        assert clip.row is not None
        earlier = first.setdefault(clip.row.id, clip)
        if earlier is not clip:
            raise ValueError(f"id {clip.row.id!r} is annotated at {earlier.stated.place} already")

    _each(clips, check)
