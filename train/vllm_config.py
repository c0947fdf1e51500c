"""The configuration of rollouts by vLLM: section `rollout.vllm`.

Example (YAML):
    rollout:
      engine: vllm_server
      vllm: {server_url: "http://10.0.0.5:8811", sync_folder: /shared/vllm_sync}
"""

from pathlib import Path
from typing import Literal

from pydantic import Field

from affect.config import Section


class VllmSection(Section):
    """How the engine is started, reached, and given new weights."""

    python: Path | None = Field(
        None,
        description=(
            "Interpreter of the environment that has vLLM, for vllm_colocate; null: .venv-vllm "
            "beside the code (`make vllm` makes it) or, without it, the training's own."
        ),
    )
    dtype: Literal["float32", "bfloat16", "float16"] | None = Field(
        None, description="Precision of the engine; null: that of the model."
    )
    memory_share: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="Share of the device's memory (on a CPU: of the RAM) for a colocated engine.",
    )
    max_model_tokens: int | None = Field(
        None,
        ge=1,
        description=(
            "Longest prompt with its completion; null: data.max_prompt_tokens + "
            "trainer.max_completion_length, which no row passes."
        ),
    )
    eager: bool = Field(
        True, description="No CUDA graphs and no compilation: slower steps, a start in seconds."
    )
    start_timeout_seconds: float = Field(
        900, gt=0, description="How long a colocated engine may take to load."
    )
    server_url: str | None = Field(
        None, description="http://HOST:PORT of the server, for vllm_server."
    )
    timeout_seconds: float = Field(
        1800, gt=0, description="How long the engine may take for one rollout or load of weights."
    )
    sync_folder: Path | None = Field(
        None,
        description=(
            "Where weights are handed to the engine, in a folder that trainer and engine both see "
            "(memory, such as /dev/shm, is fastest); null: RUN/vllm_sync."
        ),
    )
