"""A real vLLM engine on the CPU for tests: where it is, how it is started, what to compare it with.

Example:
    @needs_vllm
    def test_sampling(...): engine = start_engine(model_folder, tmp_path)
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from torch import Tensor

from affect.model.generation import end_token_ids
from affect.model.inputs import PromptInputs, banned_token_ids
from affect.model.policy import causal_model
from affect.video import SampledVideo
from tests.train.slow_grpo import row_positions
from train.rollouts import GroupRequest, SamplingSettings
from train.vllm_process import OWN_ENVIRONMENT, EngineProcess
from train.vllm_rollouts import VllmRollouts

PYTHON = OWN_ENVIRONMENT if OWN_ENVIRONMENT.is_file() else Path(sys.executable)


def _is_installed() -> bool:
    code = "import importlib.util as u, sys; sys.exit(u.find_spec('vllm') is None)"
    return subprocess.run([str(PYTHON), "-c", code], check=False).returncode == 0


needs_vllm = pytest.mark.skipif(
    not _is_installed(), reason=f"vLLM is not installed for {PYTHON}; `make vllm` does that"
)

GREEDY = SamplingSettings(max_new_tokens=40, temperature=0.0, top_k=0, top_p=1.0)
SAMPLED = SamplingSettings(max_new_tokens=12, temperature=0.8, top_k=0, top_p=1.0)
MAX_MODEL_TOKENS = 1024


def start_engine(model: Any, processor: Any, checkpoint: Path, folder: Path) -> VllmRollouts:
    """A colocated engine in float32 that has loaded the checkpoint."""
    sync_folder = folder / "sync"
    process = EngineProcess(
        PYTHON,
        [
            *("--model", str(checkpoint), "--sync-root", str(sync_folder), "--eager"),
            *("--max-model-tokens", str(MAX_MODEL_TOKENS), "--dtype", "float32"),
            *("--memory-share", "0.1"),
        ],
        folder / "engine.log",
    )
    client = process.wait(start_timeout_seconds=120, timeout_seconds=60)
    inner = causal_model(model)
    return VllmRollouts(
        processor, inner.config, end_token_ids(inner, processor), sync_folder, client, process
    )


def request(prompt: PromptInputs, clip: SampledVideo, *seeds: int) -> GroupRequest:
    return GroupRequest(prompt, clip, seeds)


def sync(engine: VllmRollouts, model: Any) -> None:
    """Hand over the model's weights as a trainer of one process does."""
    engine.sync(model, Accelerator(cpu=True))


@torch.no_grad()
def sampling_log_probs(
    model: Any, processor: Any, prompt: PromptInputs, token_ids: Sequence[int], temperature: float
) -> Tensor:
    """(C, V) log-probs of what may be sampled after each prefix: vision tokens banned."""
    ids = torch.cat([prompt.input_ids, torch.tensor(list(token_ids), dtype=torch.long)])
    inner = causal_model(model)
    logits = inner(
        input_ids=ids[None],
        attention_mask=torch.ones(1, len(ids), dtype=torch.long),
        position_ids=row_positions(inner.config, prompt, token_ids)[:, None],
        pixel_values_videos=prompt.pixel_values_videos,
        video_grid_thw=prompt.video_grid_thw,
        use_cache=False,
    ).logits[0]
    scaled = logits[prompt.num_tokens - 1 : len(ids) - 1].float() / temperature
    scaled[:, banned_token_ids(processor)] = -torch.inf
    return torch.log_softmax(scaled, dim=-1)
