"""Rows are checked by what a run will use: its budget, prompt, limits and model."""

from pathlib import Path

import pytest

from affect.config import load_config, save_config
from affect.video import FrameBudget
from data_prep.validate.settings import Settings, changed, read_training_settings
from tests.paths import ROOT
from train.grpo_config import GrpoRun
from train.sft_config import SftRun

CONFIGS = sorted((ROOT / "configs").glob("sft/*.yaml")) + sorted((ROOT / "configs").glob("grpo/*"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_is_read_is_what_the_run_has(path: Path) -> None:
    run = load_config(SftRun if path.parent.name == "sft" else GrpoRun, path)
    settings, video_root = read_training_settings(path)
    assert settings.video == run.video
    assert settings.prompt == run.data.prompt
    assert settings.max_prompt_tokens == run.data.max_prompt_tokens
    assert settings.max_tokens == getattr(run.data, "max_tokens", None)
    assert settings.decode_timeout_seconds == run.data.decode_timeout_seconds
    assert settings.needs_answer
    assert video_root == run.data.video_root


@pytest.mark.parametrize("kind", ["sft", "grpo"])
def test_the_resolved_configuration_of_a_run(tmp_path: Path, kind: str) -> None:
    run = load_config(SftRun if kind == "sft" else GrpoRun, ROOT / f"configs/{kind}/demo.yaml")
    save_config(tmp_path / "config.yaml", run)
    assert read_training_settings(tmp_path / "config.yaml") == read_training_settings(
        ROOT / f"configs/{kind}/demo.yaml"
    )


def test_an_sft_run_that_names_no_limit_has_one(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("data: {video_root: videos}\n")
    settings, video_root = read_training_settings(path)
    assert (settings.max_prompt_tokens, settings.max_tokens) == (4096, 8192)
    assert video_root == Path("videos")
    for grpo in (
        "reward: {preset: paper}",
        "rollout: {truncated: keep}",
        "trainer: {num_generations: 4}",
    ):
        path.write_text(f"{grpo}\n")
        assert read_training_settings(path)[0].max_tokens is None


def test_a_model_is_taken_only_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("model: {path: Qwen/Qwen2.5-VL-3B-Instruct}\n")
    assert read_training_settings(path)[0].model is None
    path.write_text(f"model: {{path: {tmp_path}}}\n")
    assert read_training_settings(path)[0].model == tmp_path


@pytest.mark.parametrize("seconds", ["0", "null"])
def test_a_run_without_a_time_limit_is_checked_within_one(tmp_path: Path, seconds: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(f"data: {{decode_timeout_seconds: {seconds}}}\n")
    assert read_training_settings(path)[0].decode_timeout_seconds == 120.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("video: {fsp: 2.0}", r"video\.fsp: Extra inputs"),
        ("video: {max_frames: 0}", r"video\.max_frames: .* \(got 0\)"),
        ("video: {min_frames: 9, max_frames: 3}", "above max_frames"),
        ("data: {max_prompt_tokens: many}", r"data\.max_prompt_tokens: .* \(got 'many'\)"),
        ("data: [1]", "data: "),
        ("- a list", "run.yaml"),
    ],
)
def test_mistakes_name_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(f"{text}\n")
    with pytest.raises(ValueError, match=rf"run\.yaml.*{message}|{message}"):
        read_training_settings(path)


def test_flags_win_over_a_configuration() -> None:
    settings, _ = read_training_settings(ROOT / "configs/sft/demo.yaml")
    other = changed(settings, max_frames=8, max_tokens=99, prompt="row")
    assert (other.video.max_frames, other.video.fps) == (8, settings.video.fps)
    assert (other.max_tokens, other.prompt) == (99, "row")
    assert changed(settings) == settings


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_frames", 0), ("min_frames", 31), ("fps", 9.0), ("max_tokens", 0), ("prompt", "none"),
     ("decode_timeout_seconds", 0.0), ("max_corrupt_frames", -1)],
)  # fmt: skip
def test_flags_are_checked(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        changed(Settings(), **{name: value})
    assert Settings().video == FrameBudget()
