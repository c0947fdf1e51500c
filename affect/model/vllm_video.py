"""vLLM on videos as this project samples them: its settings, a prompt's way in, and what it saw.

The frames travel with the times they were taken at, and the engine samples and resizes nothing. The
trainer's engine (`train.vllm_engine`) and the offline predictor both feed vLLM through here. vLLM
is imported when it is needed, since only its own environment has it.

Example:
    prepare_environment(eager=True)
    llm = video_llm("runs/demo/sft/final", dtype="bfloat16", max_model_tokens=8192,
                    memory_share=0.9, eager=True, num_gpus=1, seed=0)
    request = engine_input(llm, prompt_ids, clip.frames, fps=2.0, duration_seconds=9.0,
                           second_per_grid_seconds=1.0)
"""

import os
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch

BANNED_BIAS = -100.0
"""Added to the logits of tokens that no reply may hold."""


def prepare_environment(eager: bool) -> None:
    """What vLLM reads when it is imported; a value that is set already stays."""
    defaults = {
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # one process, which ends as a whole
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
        # The next two concern vLLM's CPU build only. Engines of several ranks must not all bind
        # themselves to the same cores.
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }
    if eager:
        # vLLM compiles its gathering of log-probs even so: 20 s of g++ at the first token.
        defaults["TORCHDYNAMO_DISABLE"] = "1"
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def video_llm(
    model: str,
    *,
    dtype: str,
    max_model_tokens: int,
    memory_share: float,
    eager: bool,
    num_gpus: int,
    seed: int,
    **more: Any,
) -> Any:
    """A `vllm.LLM` for prompts with one video each; `prepare_environment` comes before it.

    Args:
        memory_share: of the device's memory (on a CPU of the RAM).
        eager: no CUDA graphs and no compilation: slower steps, a start in seconds.
        more: further arguments of `vllm.LLM`.
    """
    from vllm import LLM

    return LLM(
        model=model,
        dtype=dtype,
        max_model_len=max_model_tokens,
        gpu_memory_utilization=memory_share,
        enforce_eager=eager,
        tensor_parallel_size=num_gpus,
        trust_remote_code=False,
        seed=seed,
        limit_mm_per_prompt={"image": 0, "video": 1},
        # Each clip comes once; a cache of pixels would only hold memory.
        mm_processor_cache_gb=0,
        enable_prefix_caching=True,
        generation_config="vllm",
        **more,
    )


def fold_video_tokens(ids: Sequence[int], video_token_id: int) -> list[int]:
    """The ids with one token in the place of each video: the engine lays the others in itself."""
    return [
        token
        for place, token in enumerate(ids)
        if token != video_token_id or place == 0 or ids[place - 1] != video_token_id
    ]


def engine_input(
    llm: Any,
    prompt_ids: Sequence[int],
    frames: Any,
    *,
    fps: float,
    duration_seconds: float,
    second_per_grid_seconds: float,
) -> Any:
    """What `llm.llm_engine.add_request` takes for a prompt with one clip.

    Args:
        prompt_ids: with one video token (`fold_video_tokens`).
        frames: (T, h, w, 3) uint8, as sampled and sized.
    """
    metadata = {
        "total_num_frames": len(frames),
        "fps": fps,
        "duration": duration_seconds,
        "frames_indices": list(range(len(frames))),
        "video_backend": "pyav",
    }
    request: Any = llm._preprocess_cmpl_one(
        {
            "prompt_token_ids": list(prompt_ids),
            "multi_modal_data": {"video": [(frames, metadata)]},
        },
        mm_processor_kwargs={
            "do_sample_frames": False,
            "do_resize": False,
            "cap_pixels_per_frame": False,
        },
    )
    # vLLM multiplies in float64 what its processor rounded to float32 (.7 becomes .69999999,
    # and the sixth grid of 1.4 positions starts at 6 instead of 7): the next float32 up is
    # whole where the true product is.
    item = request["mm_kwargs"]["video"][0]["second_per_grid_ts"]
    item.data = _at_least(second_per_grid_seconds)
    return request


def seen_prompt(llm: Any, request: Any) -> dict[str, Any]:
    """What the engine made of a prompt: ids, grid, and its own rule's positions."""
    from vllm.multimodal.inputs import MultiModalFeatureSpec

    item = request["mm_kwargs"]["video"][0]
    (place,) = request["mm_placeholders"]["video"]
    spec = MultiModalFeatureSpec(data=item, modality="video", identifier="", mm_position=place)
    model_class = _model_class()
    config = llm.model_config.hf_config
    stand_in = SimpleNamespace(config=config)
    stand_in.iter_mm_grid_thw = lambda specs: model_class.iter_mm_grid_thw(stand_in, specs)
    ids = list(request["prompt_token_ids"])
    positions, delta = model_class.get_mrope_input_positions(stand_in, ids, [spec])
    return {
        "prompt_ids": ids,
        "grid_thw": item["video_grid_thw"].data.flatten().tolist(),
        "second_per_grid_seconds": float(item["second_per_grid_ts"].data),
        "positions": torch.as_tensor(positions).tolist(),
        "next_position": len(ids) + int(delta),
    }


def _model_class() -> Any:
    from vllm.model_executor.models.qwen2_5_vl import Qwen2_5_VLForConditionalGeneration

    return Qwen2_5_VLForConditionalGeneration


def _at_least(seconds: float) -> torch.Tensor:
    """The smallest float32 that is not below `seconds` x (1 + 2^-25)."""
    bound = seconds * (1 + 2**-25)
    rounded = torch.tensor(bound, dtype=torch.float32)
    if float(rounded) < bound:
        rounded = torch.nextafter(rounded, torch.tensor(torch.inf))
    return rounded
