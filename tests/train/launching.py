"""Starting the two commands as users do, on a very small model, and reading what they leave.

Example:
    places = make_places(tmp_path)
    run = train("sft", tmp_path / "run", ONE_PROCESS, *places.drawn(model=places.base))
    metrics(run)[-1]["loss"]
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml

from affect.model.loading import load_policy
from affect.model.tiny import row_texts, save_tiny
from affect.run_folder import RunFolder
from tests.paths import ROOT
from tests.train.drawn_rows import BUDGET, draw_world, sft_trainer

ONE_PROCESS = [
    *("--cpu", "--num_processes", "1", "--num_machines", "1"),
    *("--mixed_precision", "no", "--dynamo_backend", "no"),
]
TWO_PROCESSES = ["--config_file", str(ROOT / "configs" / "accelerate" / "cpu2.yaml")]
GLOO = ["--trainer.ddp_backend", "gloo"]


@dataclass(frozen=True)
class Places:
    """A folder with drawn clips, a random base model, and one that knows the clips' answers."""

    folder: Path

    @property
    def world(self) -> Path:
        return self.folder / "world"

    @property
    def base(self) -> Path:
        return self.folder / "base"

    @property
    def started(self) -> Path:
        return self.folder / "started"

    def drawn(self, *, model: Path) -> list[str]:
        """Arguments for a run on the drawn clips."""
        budget = [f"--video.{name}={value}" for name, value in BUDGET.model_dump().items()]
        return [
            *("--model.path", str(model), "--data.rows", str(self.world / "rows.jsonl")),
            *("--data.video_root", str(self.world), "--data.prompt", "row", *budget),
        ]


def make_places(folder: Path) -> Places:
    """Draw the clips and make both models; a few seconds."""
    places = Places(folder)
    draw_world(places.world)
    texts = list(row_texts(places.world / "rows.jsonl"))
    save_tiny(
        places.base,
        texts,
        vocabulary_size=384,
        hidden_size=64,
        num_layers=1,
        tower_size=64,
        tower_depth=1,
    )
    # Sixty steps on four clips: most sampled answers are right, some are not, so rewards differ.
    trainer = sft_trainer(
        places.world,
        places.folder / "trained",
        optim="adamw_torch",
        learning_rate=3e-3,
        max_grad_norm=1.0,
        max_steps=60,
    )
    trainer.train()
    trainer.save_model(str(places.started))
    return places


def launch(
    launcher: Sequence[str], script: Path, arguments: Sequence[str], **variables: str
) -> subprocess.CompletedProcess[str]:
    """`accelerate launch` with one thread per process and no network."""
    return subprocess.run(
        launch_command(launcher, script, arguments),
        env=launch_environment(**variables),
        capture_output=True,
        text=True,
        check=False,
    )


def launch_command(launcher: Sequence[str], script: Path, arguments: Sequence[str]) -> list[str]:
    accelerate = Path(sys.executable).with_name("accelerate")
    return [str(accelerate), "launch", *launcher, str(script), *arguments]


def launch_environment(**variables: str) -> dict[str, str]:
    programs = Path(sys.executable).parent  # ninja, too, with which DeepSpeed compiles
    return {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "WANDB_MODE": "offline",
        **variables,
    }


def train(
    name: str, folder: Path, launcher: Sequence[str], *arguments: str, **variables: str
) -> RunFolder:
    """Run train/NAME.py with the demo's configuration and `arguments` to its end."""
    result = launch(launcher, entry(name), start_arguments(name, folder, *arguments), **variables)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-5000:]
    run = RunFolder(folder)
    assert run.is_done and f"done: {run.final}" in result.stdout
    return run


def entry(name: str) -> Path:
    return ROOT / "train" / f"{name}.py"


def start_arguments(name: str, folder: Path, *arguments: str) -> list[str]:
    config = ROOT / "configs" / name / "demo.yaml"
    return ["--config", str(config), "--run_dir", str(folder), *arguments]


def grpo_settings(num_generations: int, max_steps: int, max_completion_length: int) -> list[str]:
    """One group per process and step."""
    return [
        f"--trainer.num_generations={num_generations}",
        f"--trainer.per_device_train_batch_size={num_generations}",
        f"--trainer.max_steps={max_steps}",
        f"--trainer.max_completion_length={max_completion_length}",
        *("--trainer.temperature=1.0", "--trainer.warmup_steps=0", "--trainer.learning_rate=1e-4"),
    ]


def sharded(stage: int, folder: Path) -> list[str]:
    """The checked-in configuration of this ZeRO stage, for two CPU processes."""
    config = yaml.safe_load((ROOT / "configs" / "accelerate" / f"zero{stage}.yaml").read_text())
    config.update(num_processes=2, use_cpu=True, mixed_precision="no")
    path = folder / f"zero{stage}.yaml"
    path.write_text(yaml.safe_dump(config))
    return ["--config_file", str(path)]


def metrics(run: RunFolder) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    return [line for line in lines if "loss" in line]


def completions(run: RunFolder, step: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.completions(step).read_text().splitlines()]


def changed_weights(before: Path, after: Path) -> set[str]:
    """Names of the weights that differ; both checkpoints must load."""
    old, new = (load_policy(path)[0].state_dict() for path in (before, after))
    assert old.keys() == new.keys()
    assert all(torch.isfinite(weight).all() for weight in new.values())
    return {name for name in old if not torch.equal(old[name], new[name])}


def check_only_the_tower_stood_still(before: Path, after: Path) -> None:
    changed = changed_weights(before, after)
    everything = set(load_policy(after)[0].state_dict())
    tower = {name for name in everything if "visual." in name and "visual.merger" not in name}
    assert changed == everything - tower
