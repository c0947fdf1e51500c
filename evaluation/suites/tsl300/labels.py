"""The published label files of TSL-300, read strictly and checked against each other.

    {"database": {"102_Ekman6_surprise_408": {"subset": "test", "annotations": [
        {"segment": ["18.44", "31.199"], "label": "p"}, ...]}}}

`gt.json` is what the published script scores with; all its training videos and one test video
(371_CMU_MOSEI_36o2cux9kfQ) have empty annotations. `videosenti_gt.json` has the same test part and
the training annotations. Times are strings, in seconds. 6 test segments end up to .06 s after the
stated duration of their video, 5 training segments up to .09 s: they are kept as they stand.
`len_duration_dict.json` states the duration of each video, `time.json` again for the test videos,
and `split_test.txt` lists those.

Example: `read_labels(Path("TSL300")).subset("test")[0].segments[0].polarity`      # 'positive'
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from affect.file_hash import sha256_of_file
from evaluation.suites.tsl300.json_file import read_object

Polarity = Literal["positive", "negative"]
Subset = Literal["train", "test"]
POLARITIES: tuple[Polarity, Polarity] = ("positive", "negative")
POLARITY_OF_LETTER: Mapping[str, Polarity] = {"p": "positive", "n": "negative"}
ANNOTATION_FILES = ("gt.json", "videosenti_gt.json")

MAX_LATE_END_SECONDS = 0.1
"""A segment may end so much after the stated duration; the released files need .0933 s."""

# Decimal digits only: float() would also take "nan", "1_000" and surrounding space.
_SECONDS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,9})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class TslSegment:
    """An annotated stretch of one polarity; all else is background."""

    start_seconds: float
    end_seconds: float
    polarity: Polarity


@dataclass(frozen=True, slots=True)
class TslVideo:
    """A video with its annotations, in order and without overlaps; there may be none."""

    id: str
    subset: Subset
    duration_seconds: float
    segments: tuple[TslSegment, ...]


@dataclass(frozen=True, slots=True)
class TslLabels:
    """All videos of an annotation file, in its order. sha256: of that file's content."""

    path: Path
    sha256: str
    videos: tuple[TslVideo, ...]

    def subset(self, name: Subset) -> list[TslVideo]:
        """The videos of one subset, in order."""
        return [video for video in self.videos if video.subset == name]


def read_labels(folder: Path, annotations: str = "gt.json") -> TslLabels:
    """Read the annotation file and the three files that it must agree with.

    Raises ValueError as `FILE: field: what is wrong` for anything that is not as above.
    """
    path = folder / annotations
    database = _object(path, _read(path), "database")
    durations = _durations(folder / "len_duration_dict.json")
    videos = tuple(_video(path, video_id, value, durations) for video_id, value in database.items())
    without = sorted(set(durations) - set(database))
    if without:
        raise ValueError(
            f"{path}: database: lacks {without[0]!r}, whose duration len_duration_dict.json states"
        )
    _check_split(folder / "split_test.txt", videos)
    _check_times(folder / "time.json", videos)
    return TslLabels(path, sha256_of_file(path), videos)


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ValueError(f"{path}: is not there; --labels names the folder of TSL-300's files")
    return read_object(path)


def _object(path: Path, value: dict[str, Any], key: str) -> dict[str, Any]:
    unknown = sorted(set(value) - {key})
    if unknown or key not in value:
        raise ValueError(f"{path}: the one key {key!r} is needed, not {', '.join(sorted(value))}")
    inner = value[key]
    if not isinstance(inner, dict):
        raise ValueError(f"{path}: {key}: an object is needed, not {type(inner).__name__}")
    return inner


def _durations(path: Path) -> dict[str, float]:
    durations: dict[str, float] = {}
    for video_id, value in _read(path).items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value <= 0:
            raise ValueError(f"{path}: {video_id}: seconds above 0 are needed, not {value!r}")
        durations[video_id] = float(value)
    return durations


def _video(path: Path, video_id: str, value: Any, durations: Mapping[str, float]) -> TslVideo:
    where = f"{path}: {video_id}"
    if not isinstance(value, dict) or set(value) != {"subset", "annotations"}:
        raise ValueError(f"{where}: an object with 'subset' and 'annotations' is needed")
    if value["subset"] not in ("train", "test"):
        raise ValueError(f"{where}: subset: train or test is needed, not {value['subset']!r}")
    if not isinstance(value["annotations"], list):
        raise ValueError(f"{where}: annotations: a list is needed")
    if video_id not in durations:
        raise ValueError(f"{where}: len_duration_dict.json does not state its duration")
    duration_seconds = durations[video_id]
    segments: list[TslSegment] = []
    for index, stored in enumerate(value["annotations"]):
        place = f"{where}: annotations[{index}]"
        segment = _segment(place, stored, duration_seconds)
        if segments and segment.start_seconds < segments[-1].end_seconds:
            raise ValueError(f"{place}: segment: begins before the one in front of it ends")
        segments.append(segment)
    return TslVideo(video_id, value["subset"], duration_seconds, tuple(segments))


def _segment(place: str, stored: Any, duration_seconds: float) -> TslSegment:
    if not isinstance(stored, dict) or set(stored) != {"segment", "label"}:
        raise ValueError(f"{place}: an object with 'segment' and 'label' is needed")
    polarity = POLARITY_OF_LETTER.get(stored["label"]) if isinstance(stored["label"], str) else None
    if polarity is None:
        raise ValueError(f"{place}: label: p or n is needed, not {stored['label']!r}")
    times = stored["segment"]
    if not isinstance(times, list) or len(times) != 2:
        raise ValueError(f"{place}: segment: a start and an end are needed, not {times!r}")
    for text in times:
        if not isinstance(text, str) or not _SECONDS.fullmatch(text):
            raise ValueError(f"{place}: segment: seconds as decimal text are needed, not {text!r}")
    start_seconds, end_seconds = (float(text) for text in times)
    if end_seconds <= start_seconds:
        raise ValueError(f"{place}: segment: ends at {end_seconds} s, not after {start_seconds} s")
    if end_seconds > duration_seconds + MAX_LATE_END_SECONDS:
        raise ValueError(
            f"{place}: segment: ends at {end_seconds} s, its video at {duration_seconds:.3f} s"
        )
    return TslSegment(start_seconds, end_seconds, polarity)


def _check_split(path: Path, videos: tuple[TslVideo, ...]) -> None:
    if not path.is_file():
        raise ValueError(f"{path}: is not there; it lists the test videos")
    listed = path.read_text(encoding="utf-8").split()
    twice = sorted({name for name in listed if listed.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: lists {twice[0]!r} more than once")
    differing = sorted(set(listed) ^ {video.id for video in videos if video.subset == "test"})
    if differing:
        raise ValueError(f"{path}: disagrees with the annotations' subset on {differing[0]!r}")


def _check_times(path: Path, videos: tuple[TslVideo, ...]) -> None:
    stated = _durations(path)
    for video in videos:
        if video.subset == "test" and stated.pop(video.id, None) != video.duration_seconds:
            raise ValueError(
                f"{path}: {video.id}: the duration differs from len_duration_dict.json's "
                f"{video.duration_seconds} s"
            )
    if stated:
        raise ValueError(f"{path}: {min(stated)}: is no test video")
