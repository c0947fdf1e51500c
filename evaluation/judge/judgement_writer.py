"""Writing a file of judgements so that the same command, started again, goes on where it stopped.

    with JudgementWriter(path, header) as output:
        remaining = plan.without(output.done)
        output.write(judgement)
        output.put_in_order(plan.keys)       # once all is judged

Lines are appended as judgements come (`evaluation.resumed_file`); the last one on a segment
counts. Of an unscored one there is a line, and it is yet to be done. A finished file is rewritten
in the order of the rows, one line per segment, so that it does not tell which reply came first or
how often the run was stopped. Scores beside the file are removed with the first line that is
written: they are of what was there before.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from affect.jsonl import read_jsonl, write_jsonl_atomic
from evaluation.judge.judgements import (
    JudgeHeader,
    SegmentJudgement,
    judge_scores_path,
    read_judgements,
)
from evaluation.judge.plan import Key
from evaluation.resumed_file import ResumedFile, header_differences


class JudgementWriter(ResumedFile):
    """`kept` is the last word on each segment so far.

    Raises ValueError when another process is writing the file, when it holds what
    `read_judgements` refuses, and when it was begun with another header, unless it holds nothing
    else.
    """

    def __init__(self, path: Path, header: JudgeHeader) -> None:
        self.kept: dict[Key, SegmentJudgement] = {}
        self._header = header.model_dump(mode="json")
        self._has_written = False
        super().__init__(
            path,
            self._header,
            "move the file away to judge anew: of the same questions no reply is bought again",
        )

    @property
    def done(self) -> set[Key]:
        """What need not be asked again."""
        return {key for key, one in self.kept.items() if one.state != "unscored"}

    def write(self, *judgements: SegmentJudgement) -> None:
        """Append them; they are on the disk when this returns."""
        self._append(*(one.model_dump(mode="json") for one in judgements))
        self.kept.update({(one.id, one.segment): one for one in judgements})

    def put_in_order(self, keys: Sequence[Key]) -> list[SegmentJudgement]:
        """The judgements under these keys, with which the file is written anew if it does not hold
        just them; to be the last that is done. Raises ValueError where one is not there."""
        missing = [key for key in keys if key not in self.kept]
        if missing:
            raise ValueError(f"{self.path}: has no judgement of {missing[0]}")
        judgements = [self.kept[key] for key in keys]
        lines = [{"header": self._header}, *(one.model_dump(mode="json") for one in judgements)]
        if read_jsonl(self.path) != lines:
            write_jsonl_atomic(self.path, lines)
        return judgements

    def _resume(self) -> tuple[list[str], int]:
        begun = read_judgements(self.path)
        self.kept = {(one.id, one.segment): one for one in begun.segments}
        differing = header_differences(begun.header.model_dump(mode="json"), self._header)
        return differing, len(begun.segments)

    def _append(self, *lines: Mapping[str, Any]) -> None:
        if not self._has_written:
            judge_scores_path(self.path).unlink(missing_ok=True)
            self._has_written = True
        super()._append(*lines)
