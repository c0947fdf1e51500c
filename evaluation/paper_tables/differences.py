"""The differences of a table, line by line: a label, and one text per column that has any.

Example: `difference_lines(table)     # (('mIoU',), [('GRPO minus SFT', ('+4.3',))])`
"""

from evaluation.paper_tables.cell_text import difference_text
from evaluation.paper_tables.document import PaperTable
from evaluation.tables import UNDEFINED

HEAD = "Differences in points, paired over the same clips"


def difference_lines(
    table: PaperTable,
) -> tuple[tuple[str, ...], list[tuple[str, tuple[str, ...]]]]:
    """Heads of columns, and the lines in the order of the table."""
    keys = list(dict.fromkeys(one.column for one in table.differences))
    columns = [column for column in table.columns if column.key in keys]
    by_label: dict[str, dict[str, str]] = {}
    bases: dict[str, str] = {}
    for one in table.differences:
        column = next(column for column in columns if column.key == one.column)
        by_label.setdefault(one.label, {})[one.column] = difference_text(one, column)
        bases[one.label] = one.base
    return tuple(column.title for column in columns), [
        (
            f"{label} minus {bases[label]}",
            tuple(texts.get(column.key, UNDEFINED) for column in columns),
        )
        for label, texts in by_label.items()
    ]
