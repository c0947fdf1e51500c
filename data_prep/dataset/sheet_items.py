"""What human experts are asked about which segments (paper, appendix B).

    items = choose_items({"test": test_rows, "train": train_rows}, seed=0, train_share=0.05)
    items[0].id, items[0].split, items[0].segment     # "v3f9a1c60d2e4-s1", "test", 0

The full test split and a random subset of the training split, as in the paper. The size of that
subset, the scale and the limit of acceptance are ours: the cells of the paper's table 4 are not in
its text. An item's id says neither split nor video, so that nobody rates by them.
"""

from collections.abc import Mapping, Sequence

from affect.records import Row
from affect.sheets.form import Form
from affect.sheets.items import SheetItem, SheetKey, drawn_place

SPLITS = ("test", "train")

QUESTIONS: Mapping[str, str] = {
    "boundary": "Do the begin and the end of this segment lie where the viewer's feeling changes?",
    "label": "Is this emotion what a viewer feels during this segment?",
    "grounding": "Is everything that the reason cites really to be seen in this segment?",
    "viewer_centric": "Does the reason explain what the viewer feels, and not what somebody in the "
    "video feels or shows?",
}
"""Appendix B: boundary accuracy, label consistency, visual grounding, viewer-centric rationale."""

SCALE = {1: "not at all", 2: "hardly", 3: "partly", 4: "mostly", 5: "fully"}
RATINGS = tuple(SCALE)
MIN_ACCEPTED = 4
"""A rating from here on accepts what was asked about."""

FORM = Form(
    name="validation",
    title="Validation sheet",
    task="Watch each video whole first, then answer four questions about each of its segments. "
    "What counts is the feeling of whoever watches, not that of somebody in the video.",
    questions=QUESTIONS,
    scale=SCALE,
)


class ValidationItem(SheetItem):
    """One annotated segment. split: which its row is in."""

    split: str


class ValidationKey(SheetKey[ValidationItem]):
    """What the sheets of one validation hold; the ratings are read back by it."""

    train_share: float


def choose_items(
    rows: Mapping[str, Sequence[Row]], seed: int, train_share: float
) -> tuple[ValidationItem, ...]:
    """All segments of all test rows and of a random share of the training rows, by split and id.

    rows: "test" and "train". train_share: of the videos, rounded to the nearest number of them.
    Raises ValueError for other splits, a row that stands in both, a row without a timeline.
    """
    if set(rows) - set(SPLITS):
        raise ValueError(f"splits: {', '.join(SPLITS)} can be validated, not {sorted(rows)}")
    if not 0 <= train_share <= 1:
        raise ValueError(f"train_share: a share from 0 to 1 is needed, not {train_share}")
    train = sorted(rows.get("train", ()), key=lambda row: drawn_place(seed, row.id))
    chosen = {
        "test": list(rows.get("test", ())),
        "train": train[: int(train_share * len(train) + 0.5)],
    }
    items: dict[str, ValidationItem] = {}
    for split in SPLITS:
        for row in sorted(chosen[split], key=lambda row: row.id):
            for item in _row_items(row, split):
                if item.id in items:
                    raise ValueError(f"{split} row {row.id!r}: id: it stands twice in the splits")
                items[item.id] = item
    if not items:
        raise ValueError("there is no row to validate: give a test split or a larger train_share")
    return tuple(items.values())


def _row_items(row: Row, split: str) -> list[ValidationItem]:
    if row.timeline is None:
        raise ValueError(f"{split} row {row.id!r}: no timeline, so there is nothing to validate")
    name = drawn_place(row.id)[:12]
    segments = row.timeline.segments
    return [
        ValidationItem(
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
