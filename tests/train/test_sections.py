"""What a run's configuration refuses: keys that nobody would read, and second truths."""

from pathlib import Path
from typing import Any

import pytest
from trl import GRPOConfig, SFTConfig

from affect.config import load_config
from affect.run_folder import RunFolder
from tests.paths import ROOT
from train.grpo_config import GrpoRun
from train.run_start import trl_arguments
from train.sections import OWN_TRAINER_KEYS, TrainRun
from train.sft_config import NOT_READ, SftRun

DEMO = {SftRun: ROOT / "configs/sft/demo.yaml", GrpoRun: ROOT / "configs/grpo/demo.yaml"}
CLASSES = pytest.mark.parametrize("run_class", DEMO, ids=["sft", "grpo"])
TRL_CONFIGS = {SftRun: SFTConfig, GrpoRun: GRPOConfig}


def load(run_class: type[TrainRun], **overrides: Any) -> TrainRun:
    named = {name.replace("__", "."): value for name, value in overrides.items()}
    return load_config(run_class, DEMO[run_class], named)


def arguments(run: TrainRun, folder: Path, **ours: Any) -> Any:
    return trl_arguments(TRL_CONFIGS[type(run)], run, RunFolder(folder), **ours)


@CLASSES
@pytest.mark.parametrize("key", OWN_TRAINER_KEYS)
def test_what_the_run_decides_has_no_second_place(run_class: type[TrainRun], key: str) -> None:
    with pytest.raises(ValueError, match=rf"trainer\.{key} is set by the run itself; use"):
        load(run_class, **{f"trainer__{key}": "x"})


@pytest.mark.parametrize("key", NOT_READ)
def test_the_cold_start_ignores_nothing_silently(key: str) -> None:
    with pytest.raises(ValueError, match=rf"trainer\.{key} is not read here; use "):
        load(SftRun, **{f"trainer__{key}": 1})


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("mask_truncated_completions", "rollout.truncated"),
        ("reward_weights", "reward.weights"),
        ("use_vllm", "rollout.engine"),
        ("max_prompt_length", "data.max_prompt_tokens"),
    ],
)
def test_grpo_names_what_to_use_instead(key: str, instead: str) -> None:
    with pytest.raises(ValueError, match=rf"trainer\.{key} is not read here; use {instead}"):
        load(GrpoRun, **{f"trainer__{key}": 1})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("reward__preset", "papers"),
        ("reward__weights", {"structure": 1.0}),
        ("reward__remove", ["emotion"]),
        ("rollout__truncated", "mask"),
        ("rollout__max_decoded_completions", -1),
    ],
)
def test_grpo_refuses_other_choices(key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=key.replace("__", r"\.")):
        load(GrpoRun, **{key: value})


@CLASSES
@pytest.mark.parametrize(
    ("key", "nearest"),
    [("trainr", "trainer"), ("data.row", "data.rows"), ("video.maxframes", "video.max_frames")],
)
def test_an_unknown_key(run_class: type[TrainRun], key: str, nearest: str) -> None:
    with pytest.raises(ValueError, match=f'unknown key "{key}"; did you mean "{nearest}"'):
        load_config(run_class, DEMO[run_class], {key: 1})


@CLASSES
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", -1),
        ("model__dtype", "int8"),
        ("data__max_rows", 0),
        ("data__prompt", "mine"),
        ("data__max_prompt_tokens", 0),
        ("video__fps", 0.0),
    ],
)
def test_values_out_of_range(run_class: type[TrainRun], key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=key.replace("__", r"\.")):
        load(run_class, **{key: value})


@CLASSES
@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("lerning_rate", "learning_rate"),
        ("max_step", "max_steps"),
        ("gradient_checkpoint", "gradient_checkpointing"),
    ],
)
def test_an_unknown_trainer_key(
    run_class: type[TrainRun], key: str, nearest: str, tmp_path: Path
) -> None:
    run = load(run_class, **{f"trainer__{key}": 1})
    with pytest.raises(ValueError, match=f'trainer: unknown key "{key}"; did you mean "{nearest}"'):
        arguments(run, tmp_path)


def test_a_key_of_the_other_trainer(tmp_path: Path) -> None:
    run = load(SftRun, trainer__num_generations=4)
    with pytest.raises(ValueError, match='trainer: unknown key "num_generations"'):
        arguments(run, tmp_path)


@CLASSES
def test_a_bad_trainer_value(run_class: type[TrainRun], tmp_path: Path) -> None:
    run = load(run_class, trainer__save_strategy="sometimes")
    with pytest.raises(ValueError, match=r"^trainer: .*sometimes"):
        arguments(run, tmp_path)


@CLASSES
def test_the_run_decides_over_trls_defaults(run_class: type[TrainRun], tmp_path: Path) -> None:
    args = arguments(load(run_class, seed=7), tmp_path / "mine")
    assert args.output_dir == str(tmp_path / "mine" / "checkpoints")
    assert (args.run_name, args.seed, args.data_seed) == ("mine", 7, 7)
    assert (args.remove_unused_columns, args.ddp_find_unused_parameters) == (False, False)
    assert args.report_to == []
    assert (args.per_device_train_batch_size, args.max_grad_norm) == (
        (8, 1.0) if run_class is SftRun else (64, 1.0)
    )


def test_the_learning_rate_of_a_file_is_a_number(tmp_path: Path) -> None:
    """`5e-4` in YAML, which PyYAML would hand over as text."""
    assert arguments(load(GrpoRun), tmp_path).learning_rate == 5e-4
