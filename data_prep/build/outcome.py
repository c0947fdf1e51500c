"""What became of one video: done, rejected with a reason, or failed with a kind.

    Outcome("failed", "describe", 4, kind="timeout", detail="qwen3_vl: timeout: ...")

A rejection is a finding and stays; a failure is tried again in the next run.
"""

from dataclasses import dataclass, field
from typing import Literal

State = Literal["done", "rejected", "failed"]

UNEXPECTED = "error"
"""Kind of a failure that no stage and no model has a name for; its detail is a traceback."""


@dataclass(frozen=True, slots=True)
class Failure:
    """kind: one word, of `ModelFailure`, of `StageFailure`, or `UNEXPECTED`. detail: for people."""

    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """stage: the last one that was reached. num_passed: stages whose record let the video go on.
    kind: the rejection's reason or the failure's kind, "" for done. input_hashes: of the records
    that the outcome rests on, by stage."""

    state: State
    stage: str
    num_passed: int
    kind: str = ""
    detail: str = ""
    input_hashes: dict[str, str] = field(default_factory=dict)
