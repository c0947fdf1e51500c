"""What a report shows, before it is HTML for the page or tables and pictures for a tracker.

    content = Content("judges", "What judges say", (
        Paragraph("From 0 to 5."),
        NumberTable("judges", "Scores", (Column("run"), Column("mean", "score")), rows),
        Plot("judges", "Scores", "five dots per run", 8.0, 3.0, draw),
    ))

Tables hold values, not their text: a tracker gets numbers, the page rounds them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from affect.printable import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["text", "count", "counts", "percent", "points", "score", "seconds", "number"]


class Interval(NamedTuple):
    """A mean and its 95 % interval; None where nothing defines them."""

    mean: float | None
    low: float | None = None
    high: float | None = None


Cell: TypeAlias = str | int | float | Interval | tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Column:
    """kind: of its cells. text: str. count: int. counts: a tuple of int, one per name in `parts`.
    percent: an Interval of fractions. points: an Interval, a difference of fractions. score: an
    Interval from 0 to 5. seconds, number: float. None stands for what is not defined."""

    name: str
    kind: Kind = "text"
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NumberTable:
    """id: unique in the report. caption: a sentence. rows: one cell per column."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]]

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), self.id


class Tips:
    """Texts that appear over marks of a plot: give the mark `gid=tips.on("Joy: 3 of 4")`."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def on(self, text: str) -> str:
        """The id to give to the mark. A text may be whatever a model wrote."""
        gid = f"tip{len(self.texts)}"
        self.texts[gid] = printable(text)
        return gid


@dataclass(frozen=True, slots=True)
class Plot:
    """id: unique in the report. caption: a sentence. alt: what it shows, for those who don't see
    it. width, height: in inches at 9 points."""

    id: str
    caption: str
    alt: str
    width: float
    height: float
    draw: Callable[["Figure", Tips], None] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """Plain text, a level below the section's title."""

    text: str


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks behind a line that opens them."""

    title: str
    blocks: tuple["Block", ...]
    is_open: bool = False


Block: TypeAlias = Paragraph | Heading | NumberTable | Plot | Folded


@dataclass(frozen=True, slots=True)
class Content:
    """A section. id: unique in the report. title: plain text."""

    id: str
    title: str
    blocks: tuple[Block, ...]

    def tables(self) -> list[NumberTable]:
        """All of it, folded ones too, in order."""
        return [one for one in walk(self.blocks) if isinstance(one, NumberTable)]

    def plots(self) -> list[Plot]:
        """All of it, folded ones too, in order."""
        return [one for one in walk(self.blocks) if isinstance(one, Plot)]


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """Blocks, and after each folded one what it holds."""
    for block in blocks:
        yield block
        if isinstance(block, Folded):
            yield from walk(block.blocks)
