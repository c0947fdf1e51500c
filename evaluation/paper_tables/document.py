"""A table before it is written: columns, lines of cells, counts, notes.

    table.lines[0].cells[1].mean        # .61, a fraction; None is shown as a dash, with its reason

`tableN.json` is one `PaperTable`.
"""

from typing import Literal

from affect.frozen import Frozen

Unit = Literal["percent", "points", "check"]
"""percent: a fraction, shown times 100 with one decimal. points: 0 to 5, shown with two.
check: on or off."""

BEST, SECOND = 1, 2


class Column(Frozen):
    """key: stable, for programs. title: as it is headed."""

    key: str
    title: str
    unit: Unit


class Cell(Frozen):
    """One value. low, high: its 95 % interval, None where there is none. by_run: where several
    runs share a label, the value of each, of which `mean` is the mean. is_on: of a check.
    place: BEST or SECOND in its column, ties sharing a place, None otherwise. why: why there is no
    value; stands exactly where there is none.
    """

    mean: float | None = None
    low: float | None = None
    high: float | None = None
    by_run: tuple[float | None, ...] = ()
    is_on: bool | None = None
    place: int | None = None
    why: str | None = None


class Count(Frozen):
    """What numbers of a line stand on: `of` is what is counted, such as clips; runs are added up.

    Example: Count(of="clips", parts={"scored": 97, "unparsed": 3, "missing": 0}).
    """

    of: str
    parts: dict[str, int]

    @property
    def text(self) -> str:
        """`97 / 3 / 0`."""
        return " / ".join(str(value) for value in self.parts.values())


class Line(Frozen):
    """One system. runs: its folders' names, several where they differ in their seed. counts: in
    the order of the table's `counted`, None where the system has none."""

    group: str
    label: str
    runs: tuple[str, ...]
    cells: tuple[Cell, ...]
    counts: tuple[Count | None, ...]


class Difference(Frozen):
    """A label minus the base in one column, paired over the same clips; fractions."""

    label: str
    base: str
    column: str
    mean: float | None
    low: float | None
    high: float | None


class PaperTable(Frozen):
    """number: of the paper's table. counted: heads of the columns of counts. notes: lines below."""

    number: int
    caption: str
    protocol: str | None
    judge: str | None
    columns: tuple[Column, ...]
    counted: tuple[str, ...]
    lines: tuple[Line, ...]
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """`table2`, of its files."""
        return f"table{self.number}"


def shown(value: float, unit: Unit, sign: str = "") -> str:
    """A value as tables show it: `61.3` for .613 percent, `3.46` points."""
    return f"{100 * value:{sign}z.1f}" if unit == "percent" else f"{value:{sign}z.2f}"
