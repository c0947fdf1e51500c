"""Configuration of the cold start.

Example: `load_config(SftRun, Path("configs/sft/demo.yaml"), {"trainer.max_steps": 20})`
"""

from pydantic import Field, model_validator

from affect.token_limits import MAX_TOKENS
from train.sections import DataSection, TrainRun

_ONLY_ANSWERS = "nothing: a row is a video prompt and its answer, and only answers are learned"
NOT_READ = {
    "max_length": "data.max_tokens",
    "loss_type": "nothing: the loss is the mean over rows of the mean token loss",
    "label_smoothing_factor": "nothing: there is no label smoothing",
    **dict.fromkeys(
        ("dataset_text_field", "dataset_kwargs", "completion_only_loss", "assistant_only_loss"),
        _ONLY_ANSWERS,
    ),
    **dict.fromkeys(("packing", "padding_free"), "nothing: a row with a video is never packed"),
}


class SftDataSection(DataSection):
    """Rows of the cold start; the answer counts towards the length."""

    max_tokens: int = Field(
        MAX_TOKENS,
        ge=1,
        description="A row with more tokens, prompt and answer, stops the run at start.",
    )


class SftRun(TrainRun):
    """One cold-start run."""

    data: SftDataSection

    @model_validator(mode="after")
    def _nothing_is_ignored(self) -> "SftRun":
        for key, instead in NOT_READ.items():
            if key in self.trainer:
                raise ValueError(f"trainer.{key} is not read here; use {instead}")
        return self
