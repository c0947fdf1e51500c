"""Somebody's annotations as they stand in a file: a video, its segments, and where each stood.

    video,start,end,emotion,reason                        theirs.csv, one line per segment
    real/bikes.mp4,0,4.2,Calmness,"The road lies empty, so the viewer is calm."

    {"video": "real/bikes.mp4", "duration": 9.52, "segments": [          theirs.json, or .jsonl
        {"start": 0, "end": 4.2, "emotion": "Calmness", "reason": "..."}, ...]}

Times are seconds, as numbers or written out. `start_time`, `end_time`, `label` and `video_duration`
are understood too; `reason` and the duration may be absent. A video's segments are ordered by their
start. Other fields of a video are kept for its row, other fields of a segment are not.

Example: `read_annotations(Path("theirs.csv"))[0].segments[0].emotion`
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluation.foreign.csv_table import END, NUMBER, START, SUFFIXES, CsvTable, read_csv
from evaluation.foreign.json_entries import Entry, read_json_entries

VIDEO = ("video", "videos", "path", "video_id")
EMOTION, REASON = ("emotion", "label"), ("reason",)
DURATION = ("duration", "video_duration", "duration_seconds")


@dataclass(frozen=True, slots=True)
class StatedSegment:
    """One segment as stated; reason: None where none is given. place: `FILE:LINE`."""

    place: str
    start_seconds: float
    end_seconds: float
    emotion: str
    reason: str | None


@dataclass(slots=True)
class Annotation:
    """One video as stated. duration_seconds: None where it is not given."""

    place: str
    video: str
    id: str | None = None
    duration_seconds: float | None = None
    segments: list[StatedSegment] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)


def read_annotations(path: Path) -> list[Annotation]:
    """Every video of a file, in the order they first appear, each with its segments in order.

    Raises ValueError as `FILE:LINE: what is wrong` for what can't be read; whether segments make
    a timeline is not asked here.
    """
    is_csv = path.suffix.lower() in SUFFIXES
    annotations = _from_csv(path) if is_csv else _from_json(path)
    if not annotations:
        raise ValueError(f"{path}: holds no annotated video")
    for annotation in annotations:
        annotation.segments.sort(key=lambda segment: segment.start_seconds)
    return annotations


def _from_csv(path: Path) -> list[Annotation]:
    table = read_csv(path)
    video = _column(path, table, VIDEO)
    start, end = _column(path, table, START), _column(path, table, END)
    emotion = _column(path, table, EMOTION)
    reason, duration = table.find(REASON), table.find(DURATION)
    found: dict[str, Annotation] = {}
    for line in table.lines:
        cells = {name: cell.strip() for name, cell in line.cells.items()}
        if not cells[video]:
            raise ValueError(f"{line.place}: {video}: no video is named")
        annotation = found.setdefault(cells[video], Annotation(line.place, cells[video]))
        if duration is not None and cells[duration]:
            stated = _seconds(cells[duration], line.place, duration)
            if annotation.duration_seconds not in (None, stated):
                raise ValueError(
                    f"{line.place}: {duration}: {stated:g} s, but {cells[video]!r} lasts "
                    f"{annotation.duration_seconds:g} s by an earlier line"
                )
            annotation.duration_seconds = stated
        annotation.segments.append(
            StatedSegment(
                line.place,
                _seconds(cells[start], line.place, start),
                _seconds(cells[end], line.place, end),
                cells[emotion],
                cells[reason] if reason is not None else None,
            )
        )
    return list(found.values())


def _from_json(path: Path) -> list[Annotation]:
    annotations: list[Annotation] = []
    places: dict[str, str] = {}
    for entry in read_json_entries(path, refuse_repeats=True):
        annotation = _annotation(entry)
        name = annotation.id or annotation.video
        if name in places:
            raise ValueError(f"{entry.place}: {name!r} is annotated at {places[name]} already")
        places[name] = entry.place
        annotations.append(annotation)
    return annotations


def _annotation(entry: Entry) -> Annotation:
    fields = {name: member.value for name, member in entry.members.items()}
    place = entry.place
    video = _first(fields, VIDEO)
    value = entry.key if video is None else fields.pop(video)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not (isinstance(value, str) and value.strip()):
        raise ValueError(f"{place}: video: a path is needed, not {value!r:.60}")
    annotation = Annotation(place, value)
    row_id = fields.pop("id", None)
    if row_id is not None:
        if not (isinstance(row_id, str) and row_id.strip()):
            raise ValueError(f"{place}: id: a text is needed, not {row_id!r:.60}")
        annotation.id = row_id
    duration = _first(fields, DURATION)
    if duration is not None:
        annotation.duration_seconds = _seconds(fields.pop(duration), place, duration)
    segments = fields.pop("segments", None)
    if not isinstance(segments, list):
        raise ValueError(f"{place}: segments: a list is needed, not {segments!r:.60}")
    for index, segment in enumerate(segments):
        annotation.segments.append(_segment(segment, place, f"segments[{index}]"))
    annotation.extra = {name: value for name, value in fields.items() if value is not None}
    return annotation


def _segment(segment: Any, place: str, where: str) -> StatedSegment:
    if not isinstance(segment, dict):
        raise ValueError(f"{place}: {where}: an object is needed, not {segment!r:.60}")
    times: list[float] = []
    for names in (START, END):
        name = _first(segment, names)
        if name is None:
            raise ValueError(f"{place}: {where} has no {' or '.join(names)}")
        times.append(_seconds(segment[name], place, f"{where}.{name}"))
    emotion = _first(segment, EMOTION)
    if emotion is None or not isinstance(segment[emotion], str):
        raise ValueError(f"{place}: {where}: a text as emotion is needed")
    reason = segment.get("reason")
    if not (reason is None or isinstance(reason, str)):
        raise ValueError(f"{place}: {where}.reason: a text is needed, not {reason!r:.60}")
    return StatedSegment(place, times[0], times[1], segment[emotion], reason)


def _seconds(value: Any, place: str, name: str) -> float:
    if isinstance(value, str) and re.fullmatch(NUMBER, value.strip()):
        value = float(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value):
        raise ValueError(f"{place}: {name}: seconds as a number are needed, not {value!r:.60}")
    return float(value)


def _first(fields: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The first of the names whose value is not null."""
    return next((name for name in names if fields.get(name) is not None), None)


def _column(path: Path, table: CsvTable, names: Sequence[str]) -> str:
    name = table.find(names)
    if name is None:
        raise ValueError(
            f"{path}:1: no column called {' or '.join(names)}; there are {table.names}"
        )
    return name
