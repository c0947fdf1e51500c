"""The configuration sections that cold start and GRPO share.

Example (YAML):
    run_dir: runs/demo/sft
    seed: 0
    model: {path: runs/demo/base}
    data: {rows: data/rendered/train.sft.jsonl, video_root: data/rendered}
    video: {fps: 2.0, max_frames: 30}
    trainer: {learning_rate: 1e-5}
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from affect.config import Section
from affect.token_limits import MAX_PROMPT_TOKENS
from affect.video import DECODE_TIMEOUT_SECONDS, FrameBudget
from train.lora_config import LoraSection
from train.stall_timeout import STALL_TIMEOUT_SECONDS

# What a run decides itself; in `trainer` they would be a second truth.
OWN_TRAINER_KEYS = {
    "output_dir": "run_dir",
    "run_name": "run_dir",
    "seed": "seed",
    "data_seed": "seed",
    "remove_unused_columns": "nothing (rows keep all their columns)",
    "resume_from_checkpoint": "nothing (a run resumes by itself)",
    "model_init_kwargs": "model",
    # A configuration is written down, and a token must not be.
    "hub_token": "the environment variable HF_TOKEN",
}


class ModelSection(Section):
    """Which checkpoint to start from, and in which precision."""

    path: str = Field(description="Checkpoint folder, or a model id where a hub can be reached.")
    base: str | None = Field(
        None, description="Base model of an adapter, if no longer where the adapter says it is."
    )
    dtype: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="Precision of the weights in memory."
    )
    attention: str = Field("sdpa", description="Attention implementation of transformers.")


class DataSection(Section):
    """Which rows to train on, and how a row becomes a prompt."""

    rows: Path = Field(description="JSONL of rows with their targets (SFT or GRPO format).")
    video_root: Path = Field(description="Folder that the rows' video paths start from.")
    max_rows: int | None = Field(None, ge=1, description="Take only the first rows.")
    prompt: Literal["project", "row"] = Field(
        "project", description="The project's prompt, or each row's own text."
    )
    max_prompt_tokens: int = Field(
        MAX_PROMPT_TOKENS,
        ge=1,
        description="A prompt with more tokens, video included, stops the run at start.",
    )
    clip_cache_megabytes: int = Field(
        1024, ge=0, description="Memory for decoded frames, kept between epochs."
    )
    tower_cache: Path | None = Field(
        None,
        description=(
            "Folder that keeps the frozen tower's features of each clip, for later epochs and "
            "runs; may be shared by processes and runs. null keeps none."
        ),
    )
    tower_cache_megabytes: int = Field(
        20_480,
        ge=1,
        description="Room in that folder; the least recently used clips leave it first.",
    )
    decode_timeout_seconds: float | None = Field(
        DECODE_TIMEOUT_SECONDS,
        ge=0,
        description=(
            "A video that takes longer to decode is a bad clip and is quarantined; 0 or null "
            "decodes in the training process itself, without a limit."
        ),
    )
    on_bad_clip: Literal["replace", "replace_always", "stop"] = Field(
        "replace",
        description=(
            "A clip that can't be read once training runs: replace (another row takes its row's "
            "place; those found at start stop the run, all named), replace_always (those found at "
            "start, too), or stop."
        ),
    )
    max_bad_clips_share: float = Field(
        0.02, ge=0, le=1, description="Of all rows, how many may be replaced before the run stops."
    )


class TrainRun(Section):
    """What every training run has. `trainer` goes unchanged to TRL's config."""

    run_dir: Path = Field(description="Folder that receives everything this run makes.")
    seed: int = Field(0, ge=0, description="The one seed: weights, order of rows, sampling.")
    model: ModelSection
    data: DataSection
    video: FrameBudget = FrameBudget()
    lora: LoraSection | None = None
    stall_timeout_seconds: float | None = Field(
        STALL_TIMEOUT_SECONDS,
        ge=0,
        description=(
            "A run in which no stage begins or ends for so long says where it stands and ends; 0 "
            "or null waits for ever."
        ),
    )
    trainer: dict[str, Any] = Field(
        default_factory=dict, description="Passed unchanged to TRL's trainer config."
    )

    @field_validator("trainer")
    @classmethod
    def _own_keys_stay_out(cls, trainer: dict[str, Any]) -> dict[str, Any]:
        for key, instead in OWN_TRAINER_KEYS.items():
            if key in trainer:
                raise ValueError(f"trainer.{key} is set by the run itself; use {instead} instead")
        return trainer
