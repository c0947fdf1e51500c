"""Which of our rows another system means by an id, a path or a file's name.

    matcher = RowMatcher(read_rows(Path("test.sft.jsonl")))
    matcher.match("real/bikes.mp4", "video")      # Match("bikes", "video path")
    matcher.match("bikes", "video_id")            # Match("bikes", "id"), or by the file's name

In this order: the row's id; its video's path; a longer path that ends with it; the file's name,
with or without its ending, which is what the authors' script calls a video's id. What fits two
rows is refused by name, never chosen.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from affect.records import Row
from affect.video_path import VIDEO_SUFFIXES

BY_ID, BY_PATH, BY_END, BY_NAME = "id", "video path", "end of the path", "file name"


@dataclass(frozen=True, slots=True)
class Match:
    """how: one of "id", "video path", "end of the path" and "file name"."""

    row_id: str
    how: str


class RowMatcher:
    """Looks rows up; see the module's text."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._ids = {row.id for row in rows}
        self._paths: dict[str, list[str]] = {}
        self._names: dict[str, list[str]] = {}
        for row in rows:
            self._paths.setdefault(row.video, []).append(row.id)
            for name in {PurePosixPath(row.video).name, PurePosixPath(row.video).stem}:
                self._names.setdefault(name, []).append(row.id)

    def match(self, value: str, field: str) -> Match | None:
        """The row that `value`, found in `field`, means; None where there is none.

        Raises ValueError naming the rows where it could be two, or is one row's id and another's
        path.
        """
        by_path = self._paths.get(_normal(value), [])
        if value in self._ids:
            if field not in ("id", "key") and by_path and value not in by_path:
                raise ValueError(
                    f"{field} {value!r} is the id of one row and the video of another, "
                    f"{by_path[0]!r}; say which is meant with --id-field"
                )
            return Match(value, BY_ID)
        for how, found in (
            (BY_PATH, by_path),
            (BY_END, self._by_end(value)),
            (BY_NAME, self._by_name(value)),
        ):
            if len(found) > 1:
                first, second, *_ = found
                raise ValueError(
                    f"{field} {value!r} fits {len(found)} rows by {how}, among them {first!r} and "
                    f"{second!r}; let the file name rows by their id or their whole path"
                )
            if found:
                return Match(found[0], how)
        return None

    def _by_end(self, value: str) -> list[str]:
        parts = PurePosixPath(_normal(value)).parts
        # The longest ending that is some row's path is the one that is meant.
        for first in range(1, len(parts)):
            found = self._paths.get("/".join(parts[first:]))
            if found and len(parts) - first > 1:  # a bare name is matched as one
                return found
        return []

    def _by_name(self, value: str) -> list[str]:
        path = PurePosixPath(_normal(value))
        found = self._names.get(path.name, [])
        if not found and path.suffix.lower() in VIDEO_SUFFIXES:
            found = self._names.get(path.stem, [])
        return found


def _normal(value: str) -> str:
    """As rows write paths: `/` between folders, no `./`, Unicode NFC."""
    text = unicodedata.normalize("NFC", value.replace("\\", "/"))
    return str(PurePosixPath(text))
