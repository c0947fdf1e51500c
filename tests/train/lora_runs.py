"""Real trainers of both stages that start as the commands do, with an adapter.

Example:
    policy, trainer = sft_start(world, base, tmp_path / "run", {"rank": 4, "alpha": 8})
    trainer.train()
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from affect.config import load_config
from tests.paths import ROOT
from tests.train.drawn_rows import sft_trainer
from tests.train.grpo_fixtures import ScriptedReward, build_trainer, rows
from train.grpo_config import GrpoRun
from train.resume import load_weights_on_resume
from train.sft_config import SftRun
from train.start_policy import start_policy

LORA: dict[str, Any] = {"rank": 4, "alpha": 8.0}
RUNS = {"sft": SftRun, "grpo": GrpoRun}


def load_run(kind: str, model: Path, lora: Mapping[str, Any] | None, **overrides: Any) -> Any:
    """The demo's configuration of this stage with this model and section."""
    given: dict[str, Any] = {"model.path": str(model), "seed": 5, **overrides}
    if lora is not None:
        given["lora"] = dict(lora)
    return load_config(RUNS[kind], ROOT / "configs" / kind / "demo.yaml", given)


def start(kind: str, model: Path, lora: Mapping[str, Any] | None = LORA, **overrides: Any) -> Any:
    """The policy as train/sft.py or train/grpo.py starts from it."""
    return start_policy(load_run(kind, model, lora, **overrides), None)[0]


def sft_start(
    world: Path, folder: Path, model: Path, lora: Mapping[str, Any] = LORA, **settings: Any
) -> Any:
    """A cold start with an adapter on `model`."""
    trainer = sft_trainer(world, folder, model=start("sft", model, lora), **settings)
    load_weights_on_resume(trainer)
    return trainer


def grpo_start(
    folder: Path, model: Path, lora: Mapping[str, Any] = LORA, *, names: str = "ab", **settings: Any
) -> Any:
    """GRPO with an adapter on `model`; the first completion of each row is the better one."""
    reward = ScriptedReward("scripted", {name: [1.0, 0.0] for name in names})
    trainer = build_trainer(
        folder, rows(names), model=start("grpo", model, lora), rewards=[reward], **settings
    )
    load_weights_on_resume(trainer)
    return trainer
