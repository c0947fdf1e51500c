"""The comparison of GRPO steps: its floor in literal numbers, and the command, made small."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from speed.grpo_floor import causal_pairs, completion_floor, shared_pairs, step_floor


def config() -> Any:
    """Sizes small enough to count by hand."""
    text = SimpleNamespace(
        hidden_size=4,
        intermediate_size=6,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        vocab_size=10,
    )
    vision = SimpleNamespace(
        hidden_size=2,
        intermediate_size=3,
        out_hidden_size=4,
        depth=2,
        spatial_merge_size=2,
        in_channels=3,
        temporal_patch_size=2,
        patch_size=2,
        window_size=4,
        fullatt_block_indexes=[1],
    )
    return SimpleNamespace(get_text_config=lambda: text, vision_config=vision)


SHAPE: dict[str, Any] = {"grid_thw": [1, 2, 4], "num_prompt": 5, "num_completion": 3}


def test_the_floor_in_literal_numbers() -> None:
    """One layer of 2 x 16 + 2 x 8 + 3 x 24 = 120 weights; a head of 40; a merger of 64 + 32."""
    floor = step_floor(config(), **SHAPE, num_completions=2)
    # 8 patches, 2 x (24 x 2 + 2 x (16 + 18)) each; windows of 4 patches, then 8 with each other.
    assert floor["tower"] == 8 * 2 * (48 + 2 * 34) + 4 * (2 * 16 + 64) * 2
    merger = 2 * 2 * 96
    assert floor["prefill"] == 5 * 240 + 4 * 15 * 4 + merger + 80
    # Two tokens of each completion are fed, the first sees six, the second seven.
    assert floor["decode"] == 4 * 240 + 4 * 26 * 4 + 4 * 80
    # The prefix is four tokens; a branch of three sees 4 + 1, 4 + 2, 4 + 3.
    decoder_and_head = 10 * 240 + 4 * (10 + 2 * 18) * 4 + 6 * 80
    assert floor["forward"] == floor["reference"] == decoder_and_head + merger
    assert floor["backward"] == 2 * (decoder_and_head + merger) - 2 * 2 * 64
    assert floor["recomputed forward"] == decoder_and_head
    assert floor["total"] == sum(value for name, value in floor.items() if name != "total")


def test_one_completion_more_in_literal_numbers() -> None:
    # Decode: two tokens seeing 13; four passes and a recomputed one of three tokens seeing 18.
    decode = 2 * 240 + 4 * 13 * 4 + 2 * 80
    branch = 3 * 240 + 4 * 18 * 4 + 3 * 80
    assert completion_floor(config(), **SHAPE, num_completions=8) == decode + 5 * branch


def test_what_is_not_done_is_not_in_the_floor() -> None:
    full = step_floor(config(), **SHAPE, num_completions=2)
    bare = step_floor(config(), **SHAPE, num_completions=2, checkpointing=False, reference=False)
    assert full["total"] - bare["total"] == full["reference"] + full["recomputed forward"]


def test_pairs_against_counting_them() -> None:
    assert causal_pairs(4) == 10
    prompt, completion, count = 6, 3, 2
    prefix = [(i, j) for i in range(prompt - 1) for j in range(i + 1)]
    branch = [(b, i, j) for b in range(count) for i in range(completion) for j in range(prompt + i)]
    assert shared_pairs(prompt, completion, count) == len(prefix) + len(branch)


@pytest.mark.slow
def test_the_command_on_a_tiny_shape() -> None:
    command = [sys.executable, "-m", "speed.grpo_step", "--json", "--shape", "tiny"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    report = json.loads(done.stdout)
    assert report["tower_runs_per_clip"] == report["video_decodes_per_clip"] == 1
    assert 1.0 <= report["flops_over_floor"] <= 1.15
    assert 1.0 <= report["marginal_completion_cost"] <= 1.15
    assert report["cpu_ratio_vs_ms_swift"] is None
    assert report["cpu_ratio_vs_trl"] > 0 and report["peak_memory_ratio_vs_trl"] > 0
    ours = report["contenders"]["ours"]
    assert set(report["contenders"]) == {
        "ours",
        "trl",
        "plain log-probs",
        "tower in every pass",
        "prefill per completion",
    }
    # Leaving a saving out changes what a step costs, never what it computes.
    for name in ("plain log-probs", "tower in every pass", "prefill per completion"):
        assert report["contenders"][name]["grad_norm"] == pytest.approx(ours["grad_norm"], rel=1e-3)
    assert report["contenders"]["tower in every pass"]["tower_runs"] == 0
