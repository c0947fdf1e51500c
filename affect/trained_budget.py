"""budget.json: what a model was trained with and evaluation and serving must repeat.

    {"video": {"fps": 2.0, "min_frames": 4, "max_frames": 30, ...}, "prompt": "segment",
     "prompt_hash": "3f9a...", "max_completion_tokens": 400}

It lies in every run's folder and beside every saved model.

Example: `TrainedBudget.of(run.video, max_completion_tokens=400).write(folder / BUDGET_FILE)`
"""

import json
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from affect.atomic import write_text_atomic
from affect.first_fault import first_fault
from affect.prompts import prompt_hash
from affect.video import FrameBudget

BUDGET_FILE = "budget.json"
SEGMENT_PROMPT = "segment"
ROW_PROMPT = "row"  # each row brings its own text, which has no one hash


class TrainedBudget(BaseModel):
    """The content of a budget.json. prompt_hash and max_completion_tokens may be unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    video: FrameBudget
    prompt: str = SEGMENT_PROMPT
    prompt_hash: str | None = None
    max_completion_tokens: int | None = Field(default=None, ge=1)

    @classmethod
    def of(
        cls,
        video: FrameBudget,
        *,
        prompt: str = SEGMENT_PROMPT,
        max_completion_tokens: int | None = None,
    ) -> Self:
        """The record of a run that uses the prompt as it reads now."""
        return cls(
            video=video,
            prompt=prompt,
            prompt_hash=None if prompt == ROW_PROMPT else prompt_hash(prompt),
            max_completion_tokens=max_completion_tokens,
        )

    def write(self, path: Path) -> None:
        """Write the file whole or not at all."""
        write_text_atomic(path, json.dumps(self.model_dump(mode="json"), indent=2) + "\n")


def read_budget(path: Path) -> TrainedBudget:
    """Read a budget.json; ValueError names the file and the field."""
    try:
        return TrainedBudget.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file") from None
    except ValidationError as error:
        raise ValueError(f"{path}: field {first_fault(error)}") from error
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error})") from error
