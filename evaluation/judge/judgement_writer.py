"""Writing a file of judgements so that the same command, started again, goes on where it stopped.

    with JudgementWriter(path, header) as output:
        remaining = plan.without(output.done)
        output.write(judgement)
        output.put_in_order(plan.keys)       # once all is judged

Lines are appended as judgements come, each on the disk when `write` returns; a later line on the
same segment counts. Of an unscored one there is a line, and it is yet to be done. A finished file
is rewritten in the order of the rows, one line per segment, so that it does not tell which reply
came first or how often the run was stopped. Scores beside the file are removed with the first line
that is written: they are of what was there before.
"""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from affect.jsonl import JsonlWriter, read_jsonl, write_jsonl_atomic
from evaluation.judge.judgements import (
    JudgeHeader,
    SegmentJudgement,
    judge_scores_path,
    read_judgements,
)
from evaluation.judge.plan import Key


class JudgementWriter:
    """`kept` is the last word on each segment so far.

    Raises ValueError when another process is writing the file, when it holds what
    `read_judgements` refuses, and when it was begun with another header, unless it holds nothing
    else.
    """

    def __init__(self, path: Path, header: JudgeHeader) -> None:
        self.path = path
        self._header = header
        self.kept: dict[Key, SegmentJudgement] = {}
        self._has_written = False
        self._lines = JsonlWriter(path)
        try:
            begun = read_judgements(path) if self._lines.rows else None
            differing = _differences(begun.header, header) if begun else []
            if begun is None or (differing and not begun.segments):
                self._lines.clear()
                self._append(self._header_line)
                return
            if differing:
                raise ValueError(
                    f"{path}: was begun in another way ({'; '.join(differing)}); move the file "
                    "away to judge anew: of the same questions no reply is bought again"
                )
            self.kept = {(one.id, one.segment): one for one in begun.segments}
        except BaseException:  # also Ctrl-C: tidy up, then raise it again
            self._lines.close()
            raise

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
        lines = [self._header_line, *(one.model_dump(mode="json") for one in judgements)]
        if read_jsonl(self.path) != lines:
            write_jsonl_atomic(self.path, lines)
        return judgements

    @property
    def _header_line(self) -> dict[str, Any]:
        return {"header": self._header.model_dump(mode="json")}

    def _append(self, *lines: dict[str, Any]) -> None:
        if not self._has_written:
            judge_scores_path(self.path).unlink(missing_ok=True)
            self._has_written = True
        self._lines.write(*lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lines.close()


def _differences(begun: JudgeHeader, now: JudgeHeader) -> list[str]:
    """`field: a in the file, b now` for each that differs."""
    here, there = begun.model_dump(mode="json"), now.model_dump(mode="json")
    return [
        f"{name}: {here[name]!r} in the file, {there[name]!r} now"
        for name in here
        if here[name] != there[name]
    ]
