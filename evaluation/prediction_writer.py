"""Writing a file of predictions so that the same command, started again, goes on where it stopped.

Each batch is on the disk before the next is asked. A file that was begun with another model,
budget, prompt, sampling or rows is refused (`evaluation.resumed_file`).

Example:
    with PredictionWriter(path, header) as output:
        output.write({"a": Answer(text="...", num_tokens=212, finished=True)})
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from evaluation.predictions import Answer, PredictionHeader, read_predictions
from evaluation.resumed_file import ResumedFile


class PredictionWriter(ResumedFile):
    """An open file of predictions; `answered` are the ids that need not be asked again.

    Raises ValueError when another process is writing the file, when it holds what
    `read_predictions` refuses, and when its header differs from `header`.
    """

    def __init__(self, path: str | Path, header: PredictionHeader) -> None:
        self.answered: set[str] = set()
        self._header = header
        super().__init__(
            Path(path),
            header.model_dump(mode="json"),
            "choose another --name, or move the file away to start over",
        )

    def write(self, answers: Mapping[str, Answer]) -> None:
        """Append the answers by row id; they are on the disk when this returns."""
        assert self.answered.isdisjoint(answers), self.answered & answers.keys()
        self._append(*({"id": row_id, **asdict(answer)} for row_id, answer in answers.items()))
        self.answered |= {row_id for row_id, answer in answers.items() if answer.error is None}

    def _resume(self) -> tuple[list[str], int]:
        begun = read_predictions(self.path)
        self.answered = begun.answered
        return begun.header.differences(self._header), len(begun.replies)
