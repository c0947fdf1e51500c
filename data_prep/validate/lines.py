"""Every row of a file that can be read at all, and the faults of every line.

Example:
    lines, faults = read_lines(Path("train.sft.jsonl"), needs_answer=True)
    lines[0].number, lines[0].video, lines[0].duration_seconds     # 1, "real/bikes.mp4", 10.0
"""

from dataclasses import dataclass
from pathlib import Path

from affect.jsonl import scan_jsonl
from affect.messages import Message
from affect.row_fields import ExaminedRow, examine_object
from affect.timeline import RELEASED_TOLERANCE_SECONDS
from data_prep.validate.fault import Fault, faults_of


@dataclass(frozen=True, slots=True)
class RowLine:
    """What of a row the checks against its video need; None where it is missing or wrong.

    answer: the text that is trained on. answer_field: where it stands.
    """

    number: int
    id: str | None
    video: str | None
    duration_seconds: float | None
    prompt: tuple[Message, ...] | None
    answer: str | None
    answer_field: str | None


def read_lines(path: Path, *, needs_answer: bool) -> tuple[list[RowLine], list[Fault]]:
    """Read SFT or GRPO rows, and go on after every fault.

    needs_answer: whether a row without one is a fault (training needs it, predicting does not).
    """
    lines: list[RowLine] = []
    faults: list[Fault] = []
    line_of_id: dict[str, int] = {}
    num_rows = 0
    for line in scan_jsonl(path):
        num_rows += 1
        if line.row is None:
            found = str(line.fault)
            faults.append(Fault(line.number, None, "line", found, "one JSON object in UTF-8"))
            continue
        examined = examine_object(line.row, RELEASED_TOLERANCE_SECONDS)
        for error in examined.faults:
            faults.extend(faults_of(line.number, examined.id, error))
        if needs_answer and examined.answer_field is None:
            place = "solution" if "messages" in line.row else "conversations"
            faults.append(Fault(line.number, examined.id, place, "no answer", "an answer"))
        if examined.id is not None:
            first = line_of_id.setdefault(examined.id, line.number)
            if first != line.number:
                found = f"{examined.id!r}, as on line {first}"
                faults.append(Fault(line.number, examined.id, "id", found, "an id of its own"))
        answer, answer_faults = _answer(line.number, examined)
        faults += answer_faults
        lines.append(
            RowLine(
                number=line.number,
                id=examined.id,
                video=examined.video,
                duration_seconds=examined.duration_seconds,
                prompt=examined.prompt,
                answer=answer,
                answer_field=examined.answer_field,
            )
        )
    if num_rows == 0:
        faults.append(Fault(0, None, "file", "no rows", "at least one row"))
    return lines, faults


def _answer(number: int, examined: ExaminedRow) -> tuple[str | None, list[Fault]]:
    if examined.timeline is None or examined.answer_field is None:
        return None, []
    try:
        return examined.timeline.to_json(), []
    except ValueError as error:
        expected = "segments that keep a length in one decimal"
        return None, [Fault(number, examined.id, examined.answer_field, str(error), expected)]
