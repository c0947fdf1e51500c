"""The GPU check, run whole on a tiny model and a CPU; what it says where it can not run."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Qwen2_5_VLConfig

from speed import gpu_check, gpu_stages
from speed.gpu_model import RELEASED_3B, draw_prompt
from speed.gpu_stages import Step

STAGES = [
    "matrix rate",
    "model",
    "tower",
    *(f"{part}, {way}" for way in ("plain", "ours", "shared sdpa")
      for part in ("reference", "forward and backward")),
    "rollout, ours",
    "rollout, plain",
]  # fmt: skip


def run(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    status = gpu_check.main(["--self-check"])
    captured = capsys.readouterr()
    return status, json.loads(captured.out), captured.err


def test_self_check(capsys: pytest.CaptureFixture[str]) -> None:
    status, report, shown = run(capsys)
    assert status == 0 and report["failed"] == {}
    assert list(report) == ["device", "torch", *STAGES, "ratios", "failed"]
    assert all(f"{stage}: " in shown for stage in STAGES)
    assert report["device"] == "cpu"
    for way in ("ours", "shared sdpa"):
        assert report[f"reference, {way}"]["log_probs_differ_most"] < 1e-5
        assert report[f"forward and backward, {way}"]["gradients_differ_most"] < 1e-4
    assert report["rollout, plain"]["first_unlike_token"] == [None, None, None]
    for name in ("reference, ours", "forward and backward, plain"):
        assert report[name]["seconds"] > 0 and report[name]["share_of_matrix_rate"] > 0
        assert report[name]["peak_memory_bytes"] is None  # not 0: the CPU's is not measured
    assert report["ratios"]["reference: seconds"] > 0
    assert report["ratios"]["reference: memory"] is None


def test_a_stage_that_fails_is_named_and_the_others_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = gpu_stages.log_prob_pass

    def broken(mode: str, attention: str, pad_id: int) -> Any:
        if mode == "plain":
            raise NotImplementedError("no such kernel")
        return whole(mode, attention, pad_id)

    monkeypatch.setattr(gpu_stages, "log_prob_pass", broken)
    status, report, shown = run(capsys)
    assert status == 1
    assert report["failed"]["reference, plain"] == "NotImplementedError: no such kernel"
    assert "FAILED forward and backward, plain: NotImplementedError: no such kernel" in shown
    assert report["rollout, ours"]["seconds"] > 0
    assert report["ratios"]["reference: seconds"] is None


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is at hand")
def test_without_a_gpu_the_script_says_so(tmp_path: Path) -> None:
    script = Path(gpu_check.__file__).with_name("gpu_check.sh")
    done = subprocess.run(
        [script, tmp_path], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert done.returncode == 2
    assert "torch sees no CUDA device; --self-check" in done.stderr


def test_an_old_torch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_check.torch, "__version__", "2.10.1+cu128")
    assert gpu_check.why_not(self_check=True) == (
        "needs torch 2.11 or later, and this is 2.10.1+cu128"
    )


def test_sizes_are_those_of_the_clip_and_the_released_model() -> None:
    config = Qwen2_5_VLConfig(**RELEASED_3B)
    prompt = draw_prompt(config, **gpu_check.SIZES)
    # 14 s at 2 frames a second: 14 grids of 24 x 42 patches, four patches a token.
    assert prompt.inputs.video_grid_thw.tolist() == [[14, 24, 42]]
    assert prompt.inputs.num_tokens == 14 * 24 * 42 // 4 + 2 + 500
    assert prompt.inputs.second_per_grid_ts == (1.0,)
    with torch.device("meta"):
        from transformers import Qwen2_5_VLForConditionalGeneration

        model = Qwen2_5_VLForConditionalGeneration(config)
    # 3.75 billion with the tied head counted once, as the released checkpoint.
    assert sum(one.numel() for one in model.parameters()) == 3_754_622_976
    step = Step(gpu_check.Report(torch.device("cuda")), 256)
    assert (step.num_completions, step.num_tokens) == (8, 512)
