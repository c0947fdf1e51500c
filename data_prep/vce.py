"""Candidates from VCE label files: which three emotions viewers felt most, for each video.

    labels = read_vce_labels([Path("train_labels.json"), Path("test_labels.json")])
    candidates_for(labels, "videos/00000.mp4")
    # Candidates(emotions=("Admiration", "Adoration", "Awe (or Wonder)"))

A file is one object, keyed by a video's id, with records such as

    "00000": {"emotions": {"Admiration": 0.4416666666666667, ... all 27 ...},
              "file": "videos/00000.mp4", "topK": ["Admiration", "Adoration", "Awe (or Wonder)"]}

where an intensity is the mean of viewers' ratings, 0 to 1. VCE is published as a file for training
and one for testing; the builder takes both.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from affect.field_error import shown
from affect.json_object import JsonObject, decode
from affect.taxonomy import DAR_EMOTIONS, canonical_dar_emotion
from affect.video_path import check_video_path
from data_prep.records import Candidates

NUM_CANDIDATES = 3
"""Section 3.3 of the paper: the Top-3 of VCE."""


@dataclass(frozen=True)
class VceLabels:
    """What the builder needs of all label files.

    candidates: a video's id -> its emotions, strongest first. ids: `file` -> id.
    mismatches: one text per record whose `topK` its own intensities contradict.
    """

    candidates: Mapping[str, tuple[str, ...]]
    ids: Mapping[str, str]
    mismatches: tuple[str, ...]


def read_vce_labels(paths: Sequence[Path]) -> VceLabels:
    """Read label files as one set.

    A record without `topK` has nothing to be compared; one whose `topK` is not three of the
    strongest, strongest first, is used by its intensities and told of under `mismatches`.

    Raises ValueError as `FILE: ID: FIELD: what is wrong` for whatever is no such record, and for an
    id or a video that is labelled twice, in one file or in two.
    """
    candidates: dict[str, tuple[str, ...]] = {}
    ids: dict[str, str] = {}
    origins: dict[str, Path] = {}
    mismatches: list[str] = []
    for path in paths:
        for video_id, record in _records(path).items():
            where = f"{path}: {shown(video_id)}"
            if video_id in candidates:
                raise ValueError(f"{where}: labelled in {origins[video_id]} already")
            if not isinstance(record, dict):
                raise ValueError(f"{where}: an object is needed, not {shown(record)}")
            _refuse_repeated(record, where)
            file = _file(record, where)
            if file in ids:
                raise ValueError(
                    f"{where}: file: {shown(file)} is labelled as {shown(ids[file])} already, in "
                    f"{origins[ids[file]]}"
                )
            intensities = _intensities(record, where)
            candidates[video_id] = strongest(intensities)
            ids[file] = video_id
            origins[video_id] = path
            if mismatch := _top_k_mismatch(record, intensities, where):
                mismatches.append(f"{where}: topK: {mismatch}")
    return VceLabels(candidates, ids, tuple(mismatches))


def strongest(intensities: Mapping[str, float]) -> tuple[str, ...]:
    """The three emotions of the highest intensity, strongest first, equal ones by name.

    One that no viewer felt (0) is no candidate, so there can be fewer than three.
    """
    ranked = sorted(intensities, key=lambda emotion: (-intensities[emotion], emotion))
    return tuple(emotion for emotion in ranked[:NUM_CANDIDATES] if intensities[emotion] > 0)


def candidates_for(labels: VceLabels, video_id: str) -> Candidates:
    """The candidates of a video of the build; none for one that no file labels.

    video_id: its path under the root of the build. It is looked up as a record's `file`, else by
    its name without the ending (`clips/00000.webm` is video 00000).
    """
    record = labels.ids.get(video_id, PurePosixPath(video_id).stem)
    return Candidates(emotions=labels.candidates.get(record, ()))


def _records(path: Path) -> JsonObject:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: is not UTF-8 at byte {error.start}") from error
    if not text.lstrip(" \t\r\n").startswith("{"):
        raise ValueError(f"{path}: one JSON object, keyed by video id, is needed")
    try:
        records = decode(text.strip(" \t\r\n"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise ValueError(f"{path}: nests too deep for a label file") from error
    for video_id in records.repeated_keys:
        raise ValueError(f"{path}: {shown(video_id)}: labelled twice in this file")
    return records


def _file(record: Mapping[str, Any], where: str) -> str:
    if "file" not in record:
        raise ValueError(f"{where}: file: is missing")
    try:
        return check_video_path(record["file"])
    except ValueError as error:
        raise ValueError(f"{where}: file: {str(error).removeprefix('video: ')}") from error


def _intensities(record: Mapping[str, Any], where: str) -> dict[str, float]:
    """Canonical emotion -> intensity, of all 27."""
    given = record.get("emotions")
    if not isinstance(given, dict):
        raise ValueError(f"{where}: emotions: an object with the 27 intensities is needed")
    _refuse_repeated(given, f"{where}: emotions")
    intensities: dict[str, float] = {}
    for name, value in given.items():
        emotion = canonical_dar_emotion(name)
        field = f"{where}: emotions: {shown(name)}"
        if emotion is None:
            raise ValueError(f"{field}: is none of the 27 emotions")
        if emotion in intensities:
            raise ValueError(f"{field}: {emotion!r} is given twice, under two spellings")
        if not isinstance(value, float) or not math.isfinite(value) or not 0 <= value <= 1:
            raise ValueError(f"{field}: an intensity from 0 to 1 is needed, not {shown(value)}")
        intensities[emotion] = value
    if missing := [emotion for emotion in DAR_EMOTIONS if emotion not in intensities]:
        raise ValueError(f"{where}: emotions: {', '.join(missing)}: missing; all 27 are needed")
    return intensities


def _top_k_mismatch(
    record: Mapping[str, Any], intensities: Mapping[str, float], where: str
) -> str | None:
    """How `topK` contradicts the intensities. Emotions of equal intensity may stand in any order,
    and either may be left out."""
    if "topK" not in record:
        return None
    names = record["topK"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{where}: topK: a list of emotions is needed, not {shown(names)}")
    emotions = [canonical_dar_emotion(name) for name in names]
    known = [emotion for emotion in emotions if emotion is not None]
    if len(known) < len(names):
        return f"{shown(names)} holds a name that is none of the 27"
    if len(set(known)) != NUM_CANDIDATES or len(known) != NUM_CANDIDATES:
        return f"{shown(names)} are not {NUM_CANDIDATES} emotions"
    highest = sorted(intensities.values(), reverse=True)[:NUM_CANDIDATES]
    if [intensities[emotion] for emotion in known] != highest:
        ours = ", ".join(strongest(intensities))
        return f"{', '.join(known)}, but by the intensities it is {ours}"
    return None


def _refuse_repeated(value: Mapping[str, Any], where: str) -> None:
    for key in getattr(value, "repeated_keys", ()):
        raise ValueError(f"{where}: {shown(key)}: given twice")
