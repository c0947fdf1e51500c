"""Configuration of the cold start.

Example: `load_config(SftRun, Path("configs/sft/demo.yaml"), {"trainer.max_steps": 20})`
"""

from pydantic import Field

from train.sections import DataSection, TrainRun


class SftDataSection(DataSection):
    """Rows of the cold start; the answer counts towards the length."""

    max_tokens: int = Field(
        8192, ge=1, description="A row with more tokens, prompt and answer, stops the run at start."
    )


class SftRun(TrainRun):
    """One cold-start run."""

    data: SftDataSection
