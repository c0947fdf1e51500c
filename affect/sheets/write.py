"""Writing sheets: for each expert a page and a table, and the key to all.

    sheets/expert_1.html  expert_1.csv  expert_2.html  ...  key.json

The key is written last: a folder that holds one is whole.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from affect.atomic import write_bytes_atomic, write_text_atomic
from affect.relative_url import relative_url
from affect.sheets.form import Form
from affect.sheets.items import KEY_FILE, Item, SheetKey
from affect.sheets.page import render_page
from affect.sheets.sheet_csv import SheetLine, render_csv
from affect.video_path import resolve_video


def check_unwritten(out_dir: Path, form: Form) -> None:
    """Raises ValueError for a folder that holds sheets: they may be filled in."""
    if (out_dir / KEY_FILE).exists():
        raise ValueError(f"{out_dir}: holds {form.name} sheets already; name another folder")


def write_sheets(
    out_dir: Path,
    form: Form,
    key: SheetKey[Item],
    lines: Mapping[str, Sequence[SheetLine]],
    links: Mapping[str, str],
) -> None:
    """Write pages, tables and the key; equal inputs give equal files.

    lines: expert -> the sheet. links: an item's video -> the URL of its clip (`link_to`).
    """
    check_unwritten(out_dir, form)
    for expert in key.experts:
        table = render_csv(form, expert, lines[expert])
        # With a byte order mark, without which a spreadsheet takes UTF-8 for something else.
        write_bytes_atomic(out_dir / f"{expert}.csv", table.encode("utf-8-sig"))
        page = render_page(form, expert, lines[expert], links)
        write_text_atomic(out_dir / f"{expert}.html", page)
    write_text_atomic(out_dir / KEY_FILE, key.canonical_json() + "\n")


def link_to(out_dir: Path, video_root: Path, video: str) -> str:
    """The clip's URL relative to the pages, so that folder and clips move together.

    Raises ValueError, beginning with `video:`, for a clip that is not there or leaves its root.
    """
    path = resolve_video(video_root, video)
    if not path.is_file():
        raise ValueError(
            f"video: there is no file {path}; is {video_root} the folder of the clips?"
        )
    return relative_url(path, out_dir.resolve())
