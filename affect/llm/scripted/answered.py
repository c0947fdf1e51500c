"""What a scripted server writes down of each request, before the last byte of its answer leaves.

    {"number": 3, "operation": "reply", "digest": "9f2c...", "name": "tag", "model": "small",
     "times": 1, "fault": "cut_off", "status": 200, "whole": true, "prompt_tokens": 812,
     "completion_tokens": 9, "num_media": 12}

So a test can tell what was answered, wherever the client was killed meanwhile.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from affect.jsonl import scan_jsonl

Operation = Literal["reply", "upload", "file", "delete"]


@dataclass(frozen=True, slots=True)
class Answered:
    """One request and what was answered.

    number: from 0, of this server process. operation: a model's `reply`, or on the files API an
    `upload`, a look at a `file`, a `delete`. digest: of the question as it was first asked, so that
    asking again has the same. times: how often it had come before. fault: None where all went
    right. status: None where nothing was answered. whole: whether the full body was sent.
    prompt_tokens, completion_tokens: as told to the client; None where it was told nothing.
    """

    number: int
    operation: Operation
    digest: str
    name: str
    model: str
    times: int
    fault: str | None
    status: int | None
    whole: bool
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    num_media: int = 0

    @property
    def is_paid(self) -> bool:
        """Whether a model's reply, right or wrong, reached the client: what is paid for."""
        return self.operation == "reply" and self.status == 200 and self.whole


class AnsweredLog:
    """Appends lines to a file; each is with the operating system when `write` returns."""

    def __init__(self, path: Path | None) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = None if path is None else os.open(path, flags, 0o666)

    def write(self, answered: Answered) -> None:
        if self._file is not None:
            os.write(self._file, json.dumps(asdict(answered)).encode() + b"\n")


def read_log(path: Path) -> list[Answered]:
    """All whole lines; one that a kill cut off is left out."""
    if not path.exists():
        return []
    return [Answered(**line.row) for line in scan_jsonl(path) if line.is_ended and line.row]
