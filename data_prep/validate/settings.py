"""What rows are checked against: a budget of frames and tokens, the prompt, and a tokenizer.

A training configuration (or a run's config.yaml) says all of it:

    settings = read_training_settings(Path("configs/sft/paper.yaml"))
    settings.max_prompt_tokens, settings.max_tokens, settings.video.max_frames     # 8192, 8192, 30

Only the keys that matter here are read; the run itself refuses keys that nobody knows.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from affect.config.strict_yaml import read_yaml_mapping
from affect.token_limits import MAX_PROMPT_TOKENS, MAX_TOKENS
from affect.video import DECODE_TIMEOUT_SECONDS, FrameBudget


class Settings(BaseModel):
    """model: a folder with a processor, None to count video tokens only. max_tokens: of prompt and
    answer together, None where only the prompt is limited (GRPO). needs_answer: whether a row
    without an answer is a fault. max_corrupt_frames: None for any number."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    video: FrameBudget = FrameBudget()
    prompt: Literal["project", "row"] = "project"
    model: Path | None = None
    max_prompt_tokens: int = Field(MAX_PROMPT_TOKENS, ge=1)
    max_tokens: int | None = Field(MAX_TOKENS, ge=1)
    max_corrupt_frames: int | None = Field(None, ge=0)
    needs_answer: bool = False
    decode_timeout_seconds: float = Field(DECODE_TIMEOUT_SECONDS, gt=0, allow_inf_nan=False)


class _Ignoring(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Model(_Ignoring):
    path: str | None = None


class _Data(_Ignoring):
    video_root: Path | None = None
    prompt: Literal["project", "row"] = "project"
    max_prompt_tokens: int = Field(MAX_PROMPT_TOKENS, ge=1)
    max_tokens: int | None = Field(None, ge=1)
    decode_timeout_seconds: float | None = Field(DECODE_TIMEOUT_SECONDS, ge=0, allow_inf_nan=False)


class _Training(_Ignoring):
    model: _Model = _Model()
    data: _Data = _Data()
    video: FrameBudget = FrameBudget()
    reward: Any = None
    rollout: Any = None
    trainer: dict[str, Any] = Field(default_factory=dict)

    @property
    def is_grpo(self) -> bool:
        sections = self.reward is not None or self.rollout is not None
        return sections or "num_generations" in self.trainer


def read_training_settings(path: Path) -> tuple[Settings, Path | None]:
    """Settings and video root of a training configuration.

    A model that is no folder here (an id on a hub) is left out: the text is not counted then.
    Raises ValueError naming file and key.
    """
    data, _ = read_yaml_mapping(path)
    try:
        training = _Training.model_validate(data)
    except ValidationError as error:
        raise ValueError(f"{path}: {first_fault(error)}") from error
    rows, model = training.data, training.model.path
    max_tokens = rows.max_tokens
    if max_tokens is None and not training.is_grpo:
        max_tokens = MAX_TOKENS
    settings = Settings(
        video=training.video,
        prompt=rows.prompt,
        model=Path(model) if model is not None and Path(model).is_dir() else None,
        max_prompt_tokens=rows.max_prompt_tokens,
        max_tokens=max_tokens,
        needs_answer=True,
        decode_timeout_seconds=rows.decode_timeout_seconds or DECODE_TIMEOUT_SECONDS,
    )
    return settings, rows.video_root


def changed(settings: Settings, **changes: Any) -> Settings:
    """The settings with other values, checked. Raises ValueError naming the first that is wrong."""
    values = settings.model_dump()
    for name, value in changes.items():
        if name in FrameBudget.model_fields:
            values["video"][name] = value
        else:
            values[name] = value
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise ValueError(first_fault(error)) from error


def first_fault(error: ValidationError) -> str:
    """`video.max_frames: Input should be ... (got 0)` for the first of pydantic's faults."""
    first = error.errors()[0]
    name = ".".join(map(str, first["loc"]))
    reason = first["msg"].removeprefix("Value error, ")
    given = "" if isinstance(first["input"], dict) else f" (got {first['input']!r})"
    return f"{name}: {reason}{given}"
