"""The records of a CSV file, strictly, each with the line it begins on.

    csv_records(path, "a,b\\n1,2\\n")        # [(1, ["a", "b"]), (2, ["1", "2"])]

Python's own limit for a cell is smaller than a text may be, and is one for the whole process: it is
raised here and put back, so that nobody else reads differently afterwards.
"""

import csv
import io
from pathlib import Path

MAX_CELL_CHARACTERS = 1_000_000
"""A longer cell is most likely a quote that does not end; Python's own limit, 131,072, is below
what a reply may hold."""


def csv_records(path: Path, text: str, delimiter: str = ",") -> list[tuple[int, list[str]]]:
    """All records, blank ones (an empty list) too. path: for messages.

    Raises ValueError as `FILE:LINE: not CSV: what is wrong`.
    """
    # newline="" leaves line ends within cells to the reader, as csv asks for.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    records: list[tuple[int, list[str]]] = []
    line = 1
    limit = csv.field_size_limit(MAX_CELL_CHARACTERS)
    try:
        for record in reader:
            records.append((line, record))
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}:{line}: not CSV: {error}") from error
    finally:
        csv.field_size_limit(limit)
    return records
