"""Writing a file of predictions so that the same command, started again, goes on where it stopped.

Lines are only ever appended, each batch on the disk before the next is asked. A last line that a
kill cut short is dropped when the file is opened again; everything before it stays. A file that
was begun with another model, budget, prompt, sampling or rows is refused, naming what differs,
unless it holds nothing but its header.

Example:
    with PredictionWriter(path, header) as output:
        output.write({"a": Answer(text="...", num_tokens=212, finished=True)})
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self

from affect.jsonl import JsonlWriter
from evaluation.predictions import Answer, PredictionHeader, read_predictions


class PredictionWriter:
    """An open file of predictions; `answered` are the ids that need not be asked again.

    Raises ValueError when another process is writing the file, when it holds what
    `read_predictions` refuses, and when its header differs from `header`.
    """

    def __init__(self, path: str | Path, header: PredictionHeader) -> None:
        self.path = Path(path)
        self.answered: set[str] = set()
        self._lines = JsonlWriter(self.path)
        try:
            begun = read_predictions(self.path) if self._lines.rows else None
            differing = begun.header.differences(header) if begun else []
            if begun is None or (differing and not begun.replies):
                # A command that ended before its first answer, for a mistake in it, binds nobody.
                self._lines.clear()
                self._lines.write({"header": header.model_dump(mode="json")})
                return
            if differing:
                raise ValueError(
                    f"{self.path}: was begun in another way ({'; '.join(differing)}); choose "
                    "another --name, or move the file away to start over"
                )
            self.answered = begun.answered
        except BaseException:  # also Ctrl-C: tidy up, then raise it again
            self._lines.close()
            raise

    def write(self, answers: Mapping[str, Answer]) -> None:
        """Append the answers by row id; they are on the disk when this returns."""
        assert self.answered.isdisjoint(answers), self.answered & answers.keys()
        self._lines.write(*({"id": row_id, **asdict(answer)} for row_id, answer in answers.items()))
        self.answered |= {row_id for row_id, answer in answers.items() if answer.error is None}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lines.close()
