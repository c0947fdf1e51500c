"""Files of predictions: what a model replied to each row, with a header that says how it was asked.

    {"header": {"model": "runs/demo/final", "budget": {"fps": 2.0, ...}, "temperature": 0.0, ...}}
    {"id": "a", "text": "{\"segments\": [...]}", "num_tokens": 212, "finished": true, "error": null}
    {"id": "b", "text": null, "num_tokens": null, "finished": null, "error": "b.mp4: no picture"}

The text is the reply as it came; nothing is parsed or repaired before it is scored. A row that
failed is a line with its error and no text; a later line of the same id is a later try. A line
after an answer is a mistake. Files of other systems need a header with `model` and lines with `id`
and `text`, no more.

Example: `read_predictions("runs/demo/predictions/test.jsonl").replies["a"].text`
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from affect.first_fault import first_fault
from affect.jsonl import numbered_jsonl
from affect.run_folder import RunFolder
from evaluation.resumed_file import header_differences

LOCAL_ENGINE = "transformers"
"""What answered where a file of ours does not say: the field came later than the first files."""

# Where things lie may differ between two runs of one and the same thing; what they hold may not.
NOT_COMPARED = frozenset({"model", "rows", "video_root"})


class PredictionHeader(BaseModel):
    """How the replies came about; fields that are unknown (another system's) are None.

    engine: `transformers`, `vllm`, `endpoint` for a model on a server, or `imported` for another
    system's. endpoint: what decides that model's replies (`ModelSection.identity`), without its
    address.
    budget: the frame budget the videos were sampled under. max_new_tokens: in tokens.
    model_sha256, rows_sha256: of the weights' and rows file's content.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    model: str
    model_sha256: str | None = None
    engine: str | None = None
    endpoint: dict[str, Any] | None = None
    budget: dict[str, Any] | None = None
    prompt: str | None = None
    prompt_hash: str | None = None
    max_new_tokens: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    dtype: str | None = None
    rows: str | None = None
    rows_sha256: str | None = None
    video_root: str | None = None

    def differences(self, other: "PredictionHeader") -> list[str]:
        """`field: a in the file, b now` for each compared field; self is the file's."""
        here, there = self.model_dump(mode="json"), other.model_dump(mode="json")
        for header in (here, there):
            header["engine"] = header["engine"] or LOCAL_ENGINE
        return header_differences(here, there, NOT_COMPARED)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, or why there is none.

    text: the reply as it came; None exactly where `error` says why. num_tokens: its length, the
    end token included. finished: False where it was cut off at the token limit.
    """

    text: str | None
    num_tokens: int | None = None
    finished: bool | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        if (self.text is None) == (self.error is None):
            raise ValueError("an answer has either a text or an error")


@dataclass(frozen=True, slots=True)
class PredictionFile:
    """What a file holds: its header, the last word on each id, and the line that stands on."""

    path: Path
    header: PredictionHeader
    replies: Mapping[str, Answer]
    line_numbers: Mapping[str, int]

    @property
    def answered(self) -> set[str]:
        """Ids with a reply; failed rows are not among them."""
        return {row_id for row_id, answer in self.replies.items() if answer.error is None}


def _header(value: Mapping[str, Any], where: str) -> PredictionHeader:
    if set(value) != {"header"}:
        raise ValueError(
            f'{where}: the first line must be {{"header": {{"model": ...}}}}, which says how the '
            "replies came about"
        )
    try:
        return PredictionHeader.model_validate(value["header"])
    except ValidationError as error:
        raise ValueError(f"{where}: header field {first_fault(error, 'header')}") from error


_FIELDS: Mapping[str, tuple[type, ...]] = {
    "id": (str,),
    "text": (str, type(None)),
    "num_tokens": (int, type(None)),
    "finished": (bool, type(None)),
    "error": (str, type(None)),
}


def _answer(value: Mapping[str, Any], where: str) -> tuple[str, Answer]:
    for name in ("id", "text"):
        if name not in value:
            raise ValueError(f"{where}: field {name!r} is missing")
    for name, given in value.items():
        if name not in _FIELDS:
            raise ValueError(f"{where}: unknown field {name!r}; known are {', '.join(_FIELDS)}")
        is_bool_for_int = name == "num_tokens" and isinstance(given, bool)
        if not isinstance(given, _FIELDS[name]) or is_bool_for_int:
            raise ValueError(f"{where}: field {name!r} can't be {type(given).__name__}")
    if not value["id"]:
        raise ValueError(f"{where}: field 'id' is empty")
    if (value["text"] is None) == (value.get("error") is None):
        raise ValueError(f"{where}: needs either a text or an error, the other being null")
    fields = {name: given for name, given in value.items() if name != "id"}
    return value["id"], Answer(**fields)


def result_path(predictions: Path, place: Callable[[RunFolder, str], Path], kind: str) -> Path:
    """Where a result of a file of predictions goes: to its place in the run's folder, or for a file
    that lies in none beside it, as NAME.KIND.json.

    Example: `result_path(predictions, RunFolder.scores, "scores")`
    """
    if predictions.parent.name == "predictions":
        return place(RunFolder(predictions.parent.parent), predictions.stem)
    return predictions.with_name(f"{predictions.stem}.{kind}.json")


def read_predictions(path: str | Path) -> PredictionFile:
    """Read a whole file of predictions.

    Raises ValueError naming file and line for anything that is not as above and for a second
    answer to one id.
    """
    path = Path(path)
    header: PredictionHeader | None = None
    replies: dict[str, Answer] = {}
    line_numbers: dict[str, int] = {}
    for number, value in numbered_jsonl(path):
        where = f"{path}:{number}"
        if header is None:
            header = _header(value, where)
            continue
        row_id, answer = _answer(value, where)
        earlier = replies.get(row_id)
        if earlier is not None and earlier.error is None:
            raise ValueError(
                f"{where}: id {row_id!r} was answered on line {line_numbers[row_id]} already"
            )
        replies[row_id] = answer
        line_numbers[row_id] = number
    if header is None:
        raise ValueError(f"{path}: is empty; a header line is needed")
    return PredictionFile(path, header, replies, line_numbers)
