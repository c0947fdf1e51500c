"""The configuration of one judging: which judge, played by which model, over which replies.

dar judge --config configs/judge/paper.yaml --run runs/demo/grpo --name test
"""

from pathlib import Path
from typing import Literal

from pydantic import Field

from affect.config.section import Section
from affect.llm.model_section import ModelSection


class JudgeLimits(Section):
    """What may be spent, and how often something is tried."""

    max_cost: float | None = Field(
        None,
        gt=0,
        description="In the prices' currency, for all that was ever bought into the run's "
        "replies.sqlite; reaching it ends the run cleanly.",
    )
    max_attempts: int = Field(6, ge=1, description="Tries of one request on server faults.")
    max_backoff_seconds: float = Field(60.0, gt=0, description="Longest wait between two tries.")
    max_failures_in_a_row: int = Field(
        20, ge=1, description="Segments that fail one after the other for the server end the run."
    )
    decode_timeout_seconds: float = Field(120.0, ge=0, description="For one clip; 0 is no limit.")
    decodes_at_once: int = Field(2, ge=1, description="Decode processes.")


class JudgeConfig(Section):
    judge: Literal["judge_paper", "judge_hardened"] = Field(
        description="judge_paper: the paper's appendix I; judge_hardened: ours, which no reply can "
        "speak to."
    )
    model: ModelSection = Field(description="Who plays the judge.")
    samples: int = Field(
        1, ge=1, description="Replies per segment, with seeds 0, 1, ...; their median counts."
    )
    max_asks: int = Field(3, ge=1, description="Replies asked for until one can be used.")
    max_tokens: int = Field(1024, ge=1, description="Where a reply is cut off: it can't be used.")
    run: Path | None = Field(None, description="Run folder with predictions/NAME.jsonl. Needed.")
    name: str = Field("test", description="Of the predictions.")
    rows: Path | None = Field(
        None, description="The annotated rows, if no longer where the predictions say."
    )
    video_root: Path | None = Field(
        None, description="Where the rows' videos are, if not where the predictions say."
    )
    budget: str | None = Field(
        None,
        description="Frames that the judge is shown: a budget.json, or 'default' for 2 fps and 4 "
        "to 30 frames; null: those that the predictions were made with.",
    )
    allow_self_judging: bool = Field(
        False, description="Say aloud that a model may judge its own words."
    )
    limits: JudgeLimits = JudgeLimits()
