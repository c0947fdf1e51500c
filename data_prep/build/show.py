"""Show one video of a build through all its stages: printed, and drawn as one HTML file.

    dar build show builds/vce 00012.mp4
    dar build show builds/vce videos/00012.mp4 --html bird.html

Frames, cuts, boundaries before and after, descriptions, candidates, both judges, decision, costs
and failures; of a rejected or failed video as far as it came. A running build may be looked at.
Exit code 0, or 2 where there is no such build or video.
"""

import argparse
import hashlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from affect.atomic import write_text_atomic
from affect.printable import printable
from data_prep.build.folder import BuildFolder
from data_prep.show.page import render_page
from data_prep.show.story import VideoStory, read_story
from data_prep.show.table import Table
from data_prep.show.tables import headline, tables_of

USER_MISTAKE = 2
WIDTH_WITHOUT_TERMINAL = 160
_MAX_NAME_CHARACTERS = 80


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    folder = BuildFolder(options.out)
    try:
        story = read_story(folder, options.video)
        page = options.html or default_page(folder, story.id)
        write_text_atomic(page, render_page(story))
    except (ValueError, OSError) as error:
        sys.stderr.write(f"dar build show: {error}\n")
        return USER_MISTAKE
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH_WITHOUT_TERMINAL)
    print_story(console, story)
    console.print(Text(f"\n{page}"), soft_wrap=True)
    return 0


def print_story(console: Console, story: VideoStory) -> None:
    """Everything but the pictures. Nothing that a model wrote is taken as markup or control."""
    console.print(Text(printable(f"{story.id}: {headline(story)}"), style="bold"))
    if story.frames is None:
        console.print(Text(printable(f"No frames: {story.why_no_frames}.")))
    for table in tables_of(story):
        console.print(Text(f"\n{printable(table.title)}", style="bold"))
        for note in table.notes:
            console.print(Text(printable(note)))
        if table.rows:
            console.print(_grid(table))


def default_page(folder: BuildFolder, video_id: str) -> Path:
    """`OUT/show/<name>.html`, a name of its own for each id and inside that folder for all."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", video_id)[-_MAX_NAME_CHARACTERS:]
    mark = hashlib.sha256(video_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return folder.path / "show" / f"{name}-{mark}.html"


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="dar build show",
        description="Show one video of a build through all its stages.",
        allow_abbrev=False,
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="the build's folder")
    parser.add_argument(
        "video", metavar="VIDEO", help="its id, or a beginning or ending that is no other's"
    )
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="where the page goes (default: in OUT/show)"
    )
    return parser.parse_args(argv)


def _grid(table: Table) -> Grid:
    grid = Grid(show_edge=False, pad_edge=False, box=None, header_style="dim")
    for column in table.columns:
        grid.add_column(Text(printable(column)), overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(printable(cell)) for cell in row))
    return grid


if __name__ == "__main__":
    raise SystemExit(main())
