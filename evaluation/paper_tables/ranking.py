"""Marks the best and the second value of each column.

What is equal as shown shares a place, and a column with one value, or one where all are equal, has
no best. Example: 61.3, 61.3, 57.0 -> first, first, second.
"""

from collections.abc import Sequence

from evaluation.paper_tables.document import BEST, SECOND, Cell, Column, Line, shown


def with_places(columns: Sequence[Column], lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines with `place` set; higher is better in all columns that have numbers."""
    places = [
        _places(column, [line.cells[index] for line in lines])
        for index, column in enumerate(columns)
    ]
    return tuple(
        line.model_copy(
            update={
                "cells": tuple(
                    cell.model_copy(update={"place": places[column][row]})
                    for column, cell in enumerate(line.cells)
                )
            }
        )
        for row, line in enumerate(lines)
    )


def _places(column: Column, cells: Sequence[Cell]) -> list[int | None]:
    if column.unit == "check":
        return [None] * len(cells)
    values = [None if cell.mean is None else float(shown(cell.mean, column.unit)) for cell in cells]
    distinct = sorted({value for value in values if value is not None}, reverse=True)
    if len(distinct) < 2:
        return [None] * len(cells)
    place_of = {distinct[0]: BEST, distinct[1]: SECOND}
    return [None if value is None else place_of.get(value) for value in values]
