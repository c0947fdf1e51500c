"""What human experts are asked about which segments (paper, appendix B), and in which order.

    items = choose_items({"test": test_rows, "train": train_rows}, seed=0, train_share=0.05)
    items[0].id, items[0].split, items[0].segment     # "v3f9a1c60d2e4-s1", "test", 0

The full test split and a random subset of the training split, as in the paper. The size of that
subset, the scale and the limit of acceptance are ours: the cells of the paper's table 4 are not in
its text. An item's id says neither split nor video, so that nobody rates by them.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from affect.frozen import Frozen
from affect.records import Row

SPLITS = ("test", "train")

QUESTIONS: Mapping[str, str] = {
    "boundary": "Do the begin and the end of this segment lie where the viewer's feeling changes?",
    "label": "Is this emotion what a viewer feels during this segment?",
    "grounding": "Is everything that the reason cites really to be seen in this segment?",
    "viewer_centric": "Does the reason explain what the viewer feels, and not what somebody in the "
    "video feels or shows?",
}
"""Appendix B: boundary accuracy, label consistency, visual grounding, viewer-centric rationale."""

RATINGS = (1, 2, 3, 4, 5)
SCALE = {1: "not at all", 2: "hardly", 3: "partly", 4: "mostly", 5: "fully"}
MIN_ACCEPTED = 4
"""A rating from here on accepts what was asked about."""

KEY_FILE = "key.json"
"""Item -> video, split, segment. Not for the experts."""


class SheetItem(Frozen):
    """One segment to be rated. segment: its place in the row's timeline, from 0."""

    id: str
    row_id: str
    split: str
    video: str
    segment: int
    num_segments: int
    start_seconds: float
    end_seconds: float
    emotion: str
    reason: str


class SheetKey(Frozen):
    """What the sheets of one validation hold; the ratings are read back by it."""

    experts: tuple[str, ...]
    seed: int
    train_share: float
    items: tuple[SheetItem, ...]

    @classmethod
    def read(cls, folder: Path) -> "SheetKey":
        """Raises ValueError where the folder holds none."""
        path = folder / KEY_FILE
        if not path.is_file():
            raise ValueError(f"{path}: there is no such file; write the sheets first")
        try:
            return cls.from_json(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: not the key of validation sheets: {error}") from error


def choose_items(
    rows: Mapping[str, Sequence[Row]], seed: int, train_share: float
) -> tuple[SheetItem, ...]:
    """All segments of all test rows and of a random share of the training rows, by split and id.

    rows: "test" and "train". train_share: of the videos, rounded to the nearest number of them.
    Raises ValueError for other splits, a row that stands in both, a row without a timeline.
    """
    if set(rows) - set(SPLITS):
        raise ValueError(f"splits: {', '.join(SPLITS)} can be validated, not {sorted(rows)}")
    if not 0 <= train_share <= 1:
        raise ValueError(f"train_share: a share from 0 to 1 is needed, not {train_share}")
    train = sorted(rows.get("train", ()), key=lambda row: _draw(seed, row.id))
    chosen = {
        "test": list(rows.get("test", ())),
        "train": train[: int(train_share * len(train) + 0.5)],
    }
    items: dict[str, SheetItem] = {}
    for split in SPLITS:
        for row in sorted(chosen[split], key=lambda row: row.id):
            for item in _row_items(row, split):
                if item.id in items:
                    raise ValueError(f"{split} row {row.id!r}: id: it stands twice in the splits")
                items[item.id] = item
    if not items:
        raise ValueError("there is no row to validate: give a test split or a larger train_share")
    return tuple(items.values())


def orders(
    items: Sequence[SheetItem], experts: Sequence[str], seed: int
) -> dict[str, list[SheetItem]]:
    """For each expert all items, video by video in an order of his own; a video's segments stay
    together, in time. No two orders are equal, as far as there are so many."""
    by_video: dict[str, list[SheetItem]] = {}
    for item in items:
        by_video.setdefault(item.row_id, []).append(item)
    given: dict[str, list[SheetItem]] = {}
    taken: list[list[str]] = []
    for expert in experts:
        draw = random.Random(f"{seed}/{expert}")
        videos = sorted(by_video)
        for _ in range(100):
            draw.shuffle(videos)
            if videos not in taken:
                break
        taken.append(list(videos))
        given[expert] = [item for video in videos for item in by_video[video]]
    return given


def _row_items(row: Row, split: str) -> list[SheetItem]:
    if row.timeline is None:
        raise ValueError(f"{split} row {row.id!r}: no timeline, so there is nothing to validate")
    name = hashlib.sha256(row.id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    segments = row.timeline.segments
    return [
        SheetItem(
            id=f"v{name}-s{index + 1}",
            row_id=row.id,
            split=split,
            video=row.video,
            segment=index,
            num_segments=len(segments),
            start_seconds=segment.start_seconds,
            end_seconds=segment.end_seconds,
            emotion=segment.emotion,
            reason=segment.reason,
        )
        for index, segment in enumerate(segments)
    ]


def _draw(seed: int, row_id: str) -> str:
    return hashlib.sha256(f"{seed}/{row_id}".encode("utf-8", "surrogatepass")).hexdigest()
