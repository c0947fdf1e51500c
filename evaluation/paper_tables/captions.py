"""What stands above and below a table: which protocol, which intervals, why a cell is empty.

Example: `notes_of(table)[0]     # 'GRPO (VG to Avg): not judged by judge_paper.gpt-4o.'`
"""

from collections.abc import Mapping, Sequence

from evaluation.metrics import PROTOCOLS
from evaluation.paper_tables.document import Cell, Column, Line, PaperTable, shown

CAPTIONS: Mapping[int, str] = {
    2: "Comparison on the test set (layout of the paper's table 2).",
    3: "Human evaluation of reasons (layout of the paper's table 3).",
    5: "Fine-tuned baselines (layout of the paper's table 5).",
    6: "Out of domain: temporal localisation on TSL-300, percent (layout of the paper's table 6).",
    7: "Ablation of the reward terms (layout of the paper's table 7).",
}
_RESAMPLED = {3: "videos", 6: "videos"}


def caption(number: int, title: str, protocol: str | None, more: str, intervals: str) -> str:
    """The sentences above a table."""
    sentences = [title.strip(), CAPTIONS[number]]
    if protocol is not None:
        label = "whatever the overlap" if protocol == "released" else "at tIoU >= .5"
        sentences.append(
            f"Protocol {protocol}: SC-Acc, mIoU per segment and Emo-Acc {label}, in percent; "
            f"unparsed and missing replies {PROTOCOLS[protocol].failures}."
        )
    sentences += [more, intervals]
    return " ".join(sentence for sentence in sentences if sentence)


def interval_note(number: int) -> str:
    """What the brackets and the marks are."""
    resampled = _RESAMPLED.get(number, "clips")
    return (
        f"Brackets: 95 % intervals from a bootstrap over {resampled}. Best in bold, second "
        "underlined, ties alike."
    )


def notes_of(table: PaperTable) -> tuple[str, ...]:
    """Why cells are empty, and the value of each run where a label stands for several."""
    empty: dict[tuple[str, str], list[str]] = {}
    for line in table.lines:
        for titles, why in _empty(line, table.columns):
            empty.setdefault((titles, why), []).append(line.label)
    notes = [f"{', '.join(labels)} ({titles}): {why}." for (titles, why), labels in empty.items()]
    notes += [_spread(line, table.columns) for line in table.lines if len(line.runs) > 1]
    notes += _unequal_runs(table)
    return tuple(notes)


def _unequal_runs(table: PaperTable) -> list[str]:
    num_runs = {line.label: len(line.runs) for line in table.lines}
    pairs = dict.fromkeys((one.label, one.base) for one in table.differences)
    return [
        f"{label} minus {base}: means over {num_runs[label]} and {num_runs[base]} runs, so seeds "
        "enter the difference."
        for label, base in pairs
        if num_runs[label] != num_runs[base]
    ]


def _empty(line: Line, columns: Sequence[Column]) -> list[tuple[str, str]]:
    by_reason: dict[str, list[int]] = {}
    for index, cell in enumerate(line.cells):
        if cell.why is not None:
            by_reason.setdefault(cell.why, []).append(index)
    return [(_range(columns, at), why) for why, at in by_reason.items()]


def _range(columns: Sequence[Column], at: Sequence[int]) -> str:
    first, last = at[0], at[-1]
    if len(at) > 2 and last - first == len(at) - 1:
        return f"{columns[first].title} to {columns[last].title}"
    return ", ".join(columns[index].title for index in at)


def _spread(line: Line, columns: Sequence[Column]) -> str:
    parts = [
        f"{column.title} {_values(cell, column)}"
        for cell, column in zip(line.cells, columns, strict=True)
        if cell.by_run
    ]
    return (
        f"{line.label}: mean over {len(line.runs)} runs that differ in their seed; run by run: "
        f"{'; '.join(parts)}. Counts are added up over the runs. An interval, where there is one, "
        "says how far the clips carry, not the seeds."
    )


def _values(cell: Cell, column: Column) -> str:
    return ", ".join("-" if value is None else shown(value, column.unit) for value in cell.by_run)
