"""Rollouts by vLLM in a run's configuration: what belongs together, and what is refused and why."""

from pathlib import Path
from typing import Any

import pytest

from affect.config import load_config
from tests.paths import ROOT
from train.grpo_config import GrpoRun
from train.run_start import MAY_CHANGE
from train.vllm_config import VllmSection

DEMO = ROOT / "configs" / "grpo" / "demo.yaml"


def load(**overrides: Any) -> GrpoRun:
    return load_config(GrpoRun, DEMO, {k.replace("__", "."): v for k, v in overrides.items()})


def test_transformers_unless_told() -> None:
    assert load().rollout.engine == "transformers"
    assert load(rollout__engine="vllm_colocate").rollout.vllm == VllmSection()


def test_a_server_and_its_url_belong_together() -> None:
    url = "http://10.0.0.5:8811"
    run = load(rollout__engine="vllm_server", rollout__vllm__server_url=url)
    assert run.rollout.vllm.server_url == url
    for overrides in (
        {"rollout__engine": "vllm_server"},
        {"rollout__engine": "vllm_colocate", "rollout__vllm__server_url": url},
        {"rollout__vllm__server_url": url},
    ):
        with pytest.raises(ValueError, match="belong together"):
            load(**overrides)


@pytest.mark.parametrize("nucleus", [{"trainer__top_k": 50}, {"trainer__top_p": 0.9}])
def test_importance_correction_and_a_nucleus_exclude_each_other(nucleus: dict[str, Any]) -> None:
    off = {"trainer__top_k": 0, **nucleus}
    with pytest.raises(ValueError, match=r"excludes top_k > 0 and top_p < 1: .*renormalised"):
        load(trainer__vllm_importance_sampling_correction=True, **off)


def test_importance_correction_is_not_supported_and_says_so() -> None:
    with pytest.raises(ValueError, match="is not supported"):
        load(trainer__vllm_importance_sampling_correction=True, trainer__top_k=0)
    load(trainer__vllm_importance_sampling_correction=False)


@pytest.mark.parametrize("key", ["vllm_mode", "vllm_server_base_url", "vllm_max_model_length"])
def test_trls_own_keys_are_not_read(key: str) -> None:
    with pytest.raises(ValueError, match=rf"trainer\.{key} is not read here; see rollout\.vllm"):
        load(**{f"trainer__{key}": 1})


@pytest.mark.parametrize("temperature", [2.5, -1.0])
def test_a_temperature_that_vllm_does_not_take(temperature: float) -> None:
    load(trainer__temperature=2.5)
    with pytest.raises(ValueError, match="vLLM samples at 0 to 2"):
        load(rollout__engine="vllm_colocate", trainer__temperature=temperature)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rollout__engine", "vllm"),
        ("rollout__logp_alarm", 0.0),
        ("rollout__vllm__memory_share", 1.0),
        ("rollout__vllm__timeout_seconds", 0),
        ("rollout__vllm__memory", 0.1),
    ],
)
def test_other_values_are_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=key.replace("__", r"\.")):
        load(**{key: value})


def test_where_the_engine_is_may_change_when_a_run_resumes() -> None:
    known = {f"rollout.vllm.{name}" for name in VllmSection.model_fields}
    changeable = {key for key in MAY_CHANGE if key.startswith("rollout.vllm.")}
    assert changeable < known
    # The engine's precision is part of what was computed.
    assert "rollout.vllm.dtype" not in changeable


def test_the_checked_in_configuration_has_no_nucleus() -> None:
    run = load_config(GrpoRun, Path(ROOT / "configs" / "grpo" / "vllm.yaml"))
    assert run.rollout.engine == "vllm_colocate"
    assert (run.trainer["top_k"], run.trainer["top_p"]) == (0, 1.0)
    assert run.trainer["vllm_importance_sampling_correction"] is False
    # In all else it is the paper's.
    paper = load_config(GrpoRun, Path(ROOT / "configs" / "grpo" / "paper.yaml"))
    same = {"top_k": 50, "vllm_importance_sampling_correction": None}
    ours = {**run.trainer, **same}
    del ours["vllm_importance_sampling_correction"]
    assert ours == paper.trainer
    assert (run.video, run.data, run.model) == (paper.video, paper.data, paper.model)
