"""Writing the sheets of a human validation: for each expert a page and a table, and the key to all.

    sheets/expert_1.html  expert_1.csv  expert_2.html  ...  key.json

The key is written last: a folder that holds one is whole.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from affect.atomic import write_bytes_atomic, write_text_atomic
from affect.records import Row, resolve_video
from data_prep.dataset.sheet_csv import render_csv
from data_prep.dataset.sheet_items import KEY_FILE, SheetItem, SheetKey, choose_items, orders
from data_prep.dataset.sheet_page import render_page

NUM_EXPERTS = 3
"""Paper, appendix B."""

TRAIN_SHARE = 0.05
"""Of the training videos; the paper says "a random subset" and not how large."""


def write_sheets(
    out_dir: Path,
    rows: Mapping[str, Sequence[Row]],
    video_root: Path,
    experts: int = NUM_EXPERTS,
    seed: int = 0,
    train_share: float = TRAIN_SHARE,
) -> SheetKey:
    """Write pages, tables and the key; equal inputs give equal files.

    rows: "test" and "train" -> rows with their answers. video_root: where their clips are; pages
    link to them relatively, so that folder and clips move together.
    Raises ValueError for a clip that is not there, a row without an answer, a folder that holds
    sheets already (they may be filled in).
    """
    if experts < 1:
        raise ValueError(f"experts: 1 or more are needed, not {experts}")
    if (out_dir / KEY_FILE).exists():
        raise ValueError(f"{out_dir}: holds validation sheets already; name another folder")
    items = choose_items(rows, seed, train_share)
    names = tuple(f"expert_{number}" for number in range(1, experts + 1))
    links = _links(out_dir, items, video_root)
    for name, ordered in orders(items, names, seed).items():
        # With a byte order mark, without which a spreadsheet takes UTF-8 for something else.
        write_bytes_atomic(out_dir / f"{name}.csv", render_csv(name, ordered).encode("utf-8-sig"))
        write_text_atomic(out_dir / f"{name}.html", render_page(name, ordered, links))
    key = SheetKey(experts=names, seed=seed, train_share=train_share, items=items)
    write_text_atomic(out_dir / KEY_FILE, key.canonical_json() + "\n")
    return key


def _links(out_dir: Path, items: Sequence[SheetItem], video_root: Path) -> dict[str, str]:
    links = {}
    for item in items:
        try:
            path = resolve_video(video_root, item.video)
        except ValueError as error:
            raise ValueError(f"{item.split} row {item.row_id!r}: {error}") from error
        if not path.is_file():
            raise ValueError(
                f"{item.split} row {item.row_id!r}: video: there is no file {path}; is "
                f"{video_root} the folder of the clips?"
            )
        relative = Path(os.path.relpath(path, out_dir.resolve())).as_posix()
        links[item.video] = quote(relative, errors="surrogatepass")
    return links
