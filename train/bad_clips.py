"""Rows whose clip can't be read in the middle of a run are replaced by other rows, and named.

Clips are checked when a run starts; one that fails later vanished, changed, or ran out of time. The
row that takes its place hangs on the seed and the row's id alone, so it is the same in every epoch,
on any number of processes, and in a resumed run. Each such row is a line of the run's file:

    replaced_rows.jsonl
    {"id": "train/00012", "video": "videos/00012.mp4", "reason": "cannot be opened: ... (0 bytes)",
     "replaced_by": "train/04711"}

Example:
    replacer = ClipReplacer(clips, dataset, seed=0, record=folder.replaced_rows, max_share=0.02)
    ready = replacer.ready(row)      # ready.row, ready.prompt; ready.replaces is None, or an id
"""

import hashlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from affect.jsonl import JsonlWriter
from affect.model.inputs import PromptInputs
from affect.run_folder import RunFolder
from train.clips import BadClipError, ClipStore
from train.sections import TrainRun

MAX_TRIED = 8
"""So many other rows are tried for one; with a share of 2 % bad clips all fail once in 4e13."""


@dataclass(frozen=True)
class ReadyRow:
    """A row with its prompt. replaces: id of the row whose place it takes, or None."""

    row: dict[str, Any]
    prompt: PromptInputs
    replaces: str | None = None


class ClipReplacer:
    """Reads rows, and where a row's clip can't be read, another row in its place.

    Args:
        rows: the training rows, to choose from; each has an `id`.
        record: the run's file of replaced rows, shared by all processes; None writes none.
        max_share: of all rows, how many may be bad before the run stops.
    """

    def __init__(
        self, clips: ClipStore, rows: Any, *, seed: int, record: Path | None, max_share: float
    ) -> None:
        self.clips = clips
        self.rows = rows
        self.seed = seed
        self.record = record
        self.max_share = max_share
        self._told: set[tuple[str, str]] = set()
        self._bad_ids: set[str] = set()

    def ready(self, row: Mapping[str, Any]) -> ReadyRow:
        """The row itself, or the first of its replacements whose clip can be read.

        Raises:
            ValueError: more rows than `max_share` are bad, or all replacements tried are; also what
                `ClipStore.prompt` raises for other reasons than the clip.
        """
        try:
            return ReadyRow(dict(row), self.clips.prompt(row))
        except BadClipError as error:
            bad = error
        self.clips.quarantine(bad)
        for other in self._replacements(str(row["id"])):
            try:
                prompt = self.clips.prompt(other)
            except BadClipError as error:
                self.clips.quarantine(error)
                self._tell(other, error, None)
                continue
            self._tell(row, bad, str(other["id"]))
            return ReadyRow(other, prompt, replaces=str(row["id"]))
        self._tell(row, bad, None)
        raise ValueError(
            f"{bad}\nand the rows tried in its place can't be read either; is {self._root} whole?"
        ) from bad

    @property
    def _root(self) -> Path:
        root: Path = self.clips.data.video_root
        return root

    def _replacements(self, row_id: str) -> Iterator[dict[str, Any]]:
        """Other rows in the order in which they are tried, none twice."""
        num_rows = len(self.rows)
        seen = {row_id}
        for draw in range(16 * MAX_TRIED):
            other = self.rows[replacement_index(self.seed, row_id, draw, num_rows)]
            if other["id"] not in seen:
                seen.add(other["id"])
                yield dict(other)
            if len(seen) > min(MAX_TRIED, num_rows - 1):
                return

    def _tell(self, row: Mapping[str, Any], error: BadClipError, other: str | None) -> None:
        """Once for each row and what replaces it: on stderr and in the run's record."""
        row_id = str(row["id"])
        if (row_id, other or "") in self._told:
            return
        self._told.add((row_id, other or ""))
        self._bad_ids.add(row_id)
        place = f"row {other} takes its place" if other else "it takes no other row's place"
        sys.stderr.write(f"bad clip: {error}; {place}\n")
        sys.stderr.flush()
        if self.record is not None:
            line = {
                "id": row_id,
                "video": row["video"],
                "reason": error.reason,
                "replaced_by": other,
            }
            with JsonlWriter(self.record, wait=True) as file:
                if all(one["id"] != row_id or one["replaced_by"] != other for one in file.rows):
                    file.write(line)
                self._bad_ids.update(str(one["id"]) for one in file.rows)
        num_allowed = self.max_share * len(self.rows)
        if len(self._bad_ids) > num_allowed:
            where = f"; they are listed in {self.record}" if self.record else ""
            raise ValueError(
                f"{len(self._bad_ids)} of {len(self.rows)} rows have a clip that can't be read, "
                f"and data.max_bad_clips_share allows {num_allowed:.3g}{where}. The last one: "
                f"{error}\nMend the clips, or raise the share; the run goes on from its last "
                "checkpoint"
            ) from error


def clip_replacer(
    clips: ClipStore, rows: Any, run: TrainRun, folder: RunFolder
) -> ClipReplacer | None:
    """The replacer of a run; None where a bad clip stops it."""
    if run.data.on_bad_clip == "stop":
        return None
    share = run.data.max_bad_clips_share
    return ClipReplacer(clips, rows, seed=run.seed, record=folder.replaced_rows, max_share=share)


def replacement_index(seed: int, row_id: str, draw: int, num_rows: int) -> int:
    """Index of the row that is tried at this draw (from 0) in place of another."""
    key = f"{seed}/{row_id}/{draw}".encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") % num_rows
