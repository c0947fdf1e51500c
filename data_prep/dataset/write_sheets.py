"""Writing the sheets of a human validation: for each expert a page and a table, and the key to all.

    sheets/expert_1.html  expert_1.csv  expert_2.html  ...  key.json

The key is written last: a folder that holds one is whole.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from affect.records import Row
from affect.sheets.items import expert_names, orders
from affect.sheets.sheet_csv import SheetLine
from affect.sheets.write import check_unwritten, link_to, write_sheets
from data_prep.dataset.sheet_items import FORM, ValidationItem, ValidationKey, choose_items

NUM_EXPERTS = 3
"""Paper, appendix B."""

TRAIN_SHARE = 0.05
"""Of the training videos; the paper says "a random subset" and not how large."""


def write_validation(
    out_dir: Path,
    rows: Mapping[str, Sequence[Row]],
    video_root: Path,
    experts: int = NUM_EXPERTS,
    seed: int = 0,
    train_share: float = TRAIN_SHARE,
) -> ValidationKey:
    """Write pages, tables and the key; equal inputs give equal files.

    rows: "test" and "train" -> rows with their answers. video_root: where their clips are; pages
    link to them relatively, so that folder and clips move together.
    Raises ValueError for a clip that is not there, a row without an answer, a folder that holds
    sheets already (they may be filled in).
    """
    names = expert_names(experts)
    check_unwritten(out_dir, FORM)
    items = choose_items(rows, seed, train_share)
    links = {item.video: _link(out_dir, item, video_root) for item in items}
    # A timeline ends where its video does.
    durations = {item.row_id: item.end_seconds for item in items}
    lines = {
        name: [SheetLine(item, durations[item.row_id]) for item in ordered]
        for name, ordered in orders(items, names, seed).items()
    }
    key = ValidationKey(experts=names, seed=seed, train_share=train_share, items=items)
    write_sheets(out_dir, FORM, key, lines, links)
    return key


def _link(out_dir: Path, item: ValidationItem, video_root: Path) -> str:
    try:
        return link_to(out_dir, video_root, item.video)
    except ValueError as error:
        raise ValueError(f"{item.split} row {item.row_id!r}: {error}") from error
