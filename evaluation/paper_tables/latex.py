r"""A table as LaTeX, for \usepackage{booktabs}, {amssymb} and {graphicx}; all text escaped.

pdflatex knows Latin letters; labels in other scripts need lualatex and a font that has them.

Example: `to_latex(table)` begins with `\begin{table*}[t]`.
"""

from evaluation.paper_tables.cell_text import interval_text, one_line, value_text
from evaluation.paper_tables.differences import HEAD, difference_lines
from evaluation.paper_tables.document import BEST, SECOND, Cell, Column, PaperTable
from evaluation.tables import UNDEFINED

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # At the start of a line they would belong to the line break in front of it.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}


def escape(text: str) -> str:
    """Text that LaTeX prints as it is; no command and no comment survives in it."""
    return "".join(_ESCAPES.get(character, character) for character in one_line(text))


def to_latex(table: PaperTable) -> str:
    """One table* environment, with its differences and notes below."""
    heads = ["System", *(column.title for column in table.columns), *table.counted]
    lines = [
        f"% Needs booktabs, amssymb and graphicx. {table.name}",
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{escape(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
        r"\toprule",
        _row([escape(head) for head in heads]),
        r"\midrule",
    ]
    group = ""
    for index, line in enumerate(table.lines):
        if line.group != group:
            group = line.group
            if index:
                lines.append(r"\midrule")
            if group.strip():
                title = rf"\multicolumn{{{len(heads)}}}{{l}}{{\emph{{{escape(group)}}}}}"
                lines.append(_row([title]))
        cells = [
            _cell(cell, column) for cell, column in zip(line.cells, table.columns, strict=True)
        ]
        counts = [UNDEFINED if count is None else count.text for count in line.counts]
        lines.append(_row([escape(line.label), *cells, *counts]))
    lines += [r"\bottomrule", r"\end{tabular}}"]
    if table.differences:
        lines += _differences(table)
    if table.notes:
        notes = r" \\ ".join(escape(note) for note in table.notes)
        lines.append(rf"\par\smallskip{{\footnotesize\raggedright {notes}\par}}")
    lines.append(r"\end{table*}")
    return "\n".join(lines) + "\n"


def _differences(table: PaperTable) -> list[str]:
    columns, differences = difference_lines(table)
    return [
        rf"\par\smallskip{{\footnotesize {escape(HEAD)}}}\par\smallskip",
        # Three columns of intervals are wider than a page of 12 cm in its normal size.
        r"{\footnotesize\setlength{\tabcolsep}{3pt}%",
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        _row(["Systems", *(escape(head) for head in columns)]),
        r"\midrule",
        *(
            _row([escape(label), *(f"${escape(text)}$" for text in texts)])
            for label, texts in differences
        ),
        r"\bottomrule",
        r"\end{tabular}}",
    ]


def _cell(cell: Cell, column: Column) -> str:
    if cell.is_on is not None:
        return r"$\checkmark$" if cell.is_on else r"$\times$"
    text = value_text(cell, column)
    if cell.place == BEST:
        text = rf"\textbf{{{text}}}"
    elif cell.place == SECOND:
        text = rf"\underline{{{text}}}"
    interval = interval_text(cell, column)
    return rf"{text} {{\scriptsize {escape(interval)}}}" if interval else text


def _row(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
