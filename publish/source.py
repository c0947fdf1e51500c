"""What is exported: a run's checkpoint, what it was trained with, and the model it began from.

A run's `model.path` may be the checkpoint of another run (GRPO begins from a cold start), whose own
`model.path` leads on; the base model is where that chain ends.

Example: `find_source(Path("runs/mine/grpo")).base` is "Qwen/Qwen2.5-VL-3B-Instruct".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from affect.adapter_config import is_adapter, read_adapter_config
from affect.config.strict_yaml import read_yaml_mapping
from affect.prompts import prompt_hash
from affect.run_folder import RunFolder, checkpoint_steps
from affect.trained_budget import BUDGET_FILE, ROW_PROMPT, TrainedBudget, read_budget


@dataclass(frozen=True, slots=True)
class Stage:
    """One run on the way from the base model to the exported one."""

    folder: Path
    config: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """GRPO where the run had a reward, else SFT."""
        return "GRPO" if "reward" in self.config else "SFT"

    @property
    def starting_model(self) -> str:
        """The run's `model.path`, a folder or a model id.

        A relative folder counts from where we are or, if it is not there, from where the run was
        started, as far as its own `run_dir` tells where that was.
        """
        path = str(self.config["model"]["path"])
        run_dir = Path(str(self.config.get("run_dir", "")))
        here = self.folder.resolve()
        if not Path(path).exists() and not run_dir.is_absolute() and run_dir.parts:
            started_in = Path(*here.parts[: -len(run_dir.parts)])
            if started_in / run_dir == here and (started_in / path).is_dir():
                return str(started_in / path)
        return path


@dataclass(frozen=True, slots=True)
class Source:
    """A checkpoint and its history.

    step: the checkpoint's, None for the finished model. stages: this run last, before it those it
    began from. base: the model that the first of them began from, as its configuration names it.
    """

    run: RunFolder
    step: int | None
    checkpoint: Path
    budget: TrainedBudget
    stages: tuple[Stage, ...]
    base: str

    @property
    def shown_base(self) -> str:
        """The base's name as others may see it: a model id, or a folder by its last two names."""
        if not Path(self.base).exists():
            return last_names(self.base)
        return last_names(str(Path(self.base).resolve()))

    @property
    def is_adapter(self) -> bool:
        """Whether the checkpoint holds LoRA weights to be merged into a base."""
        return is_adapter(self.checkpoint)

    @property
    def name(self) -> str:
        """The run folder's own name; the path to it would tell of a machine, not of a model."""
        return self.run.path.resolve().name


def last_names(path: str) -> str:
    """A path by its last two names: where it lay on some machine is nobody's business."""
    names = path.replace("\\", "/").rstrip("/").split("/")
    short = len(names) < 3 and names[0]
    return path if short else "/".join(["...", *[name for name in names if name][-2:]])


def find_source(run: Path, *, step: int | None = None, base: str | None = None) -> Source:
    """The finished model of a run, or its checkpoint of `step`.

    Args:
        base: overrides what the configurations say the first run began from.

    Raises:
        ValueError: no run folder, an unfinished run without `step`, no such checkpoint, no
            budget.json, or a prompt that reads differently from the one of the training.
    """
    folder = RunFolder(run)
    if not folder.config.is_file():
        problem = "has no config.yaml" if run.is_dir() else "there is no such folder"
        raise ValueError(
            f"{run}: {problem}; name the folder of a run of train/sft.py or train/grpo.py"
        )
    checkpoint = folder.final if step is None else folder.checkpoint(step)
    if step is None and not folder.is_done:
        raise ValueError(
            f"{run}: is not finished; the training command, started again, goes on with it, or "
            f"choose a checkpoint with --step ({_steps(folder)})"
        )
    if not checkpoint.is_dir():
        raise ValueError(f"{checkpoint}: there is no such folder; --step may be {_steps(folder)}")
    stages = tuple(reversed(_stages_back(folder)))
    budget = _budget(folder, checkpoint)
    _refuse_another_prompt(folder, budget)
    return Source(folder, step, checkpoint, budget, stages, base or _base(stages[0]))


def _base(first: Stage) -> str:
    """What the first run began from; the model below, where that is an adapter of no known run."""
    path = Path(first.starting_model)
    if not is_adapter(path):
        return first.starting_model
    return str(first.config["model"].get("base") or read_adapter_config(path).base)


def _steps(folder: RunFolder) -> str:
    return ", ".join(map(str, checkpoint_steps(folder.checkpoints))) or "there is none"


def _budget(folder: RunFolder, checkpoint: Path) -> TrainedBudget:
    for path in (folder.budget, checkpoint / BUDGET_FILE):
        if path.is_file():
            return read_budget(path)
    raise ValueError(
        f"{folder.path}: has no {BUDGET_FILE}, so nothing says which frames and which prompt the "
        "model was trained with"
    )


def _refuse_another_prompt(folder: RunFolder, budget: TrainedBudget) -> None:
    if budget.prompt == ROW_PROMPT or budget.prompt_hash in (None, prompt_hash(budget.prompt)):
        return
    raise ValueError(
        f"{folder.path}: was trained with another text of the prompt {budget.prompt!r} than this "
        "version has, and its users would ask with the wrong one; export it with the version that "
        f"trained it, whose revision is in {folder.environment}"
    )


def _stages_back(folder: RunFolder) -> list[Stage]:
    """This run first, then the one it began from, and so on."""
    stages: list[Stage] = []
    seen: set[Path] = set()
    here: RunFolder | None = folder
    while here is not None:
        if here.path.resolve() in seen:
            raise ValueError(f"{here.config}: model.path leads back to the run itself")
        seen.add(here.path.resolve())
        stage = Stage(here.path, _read_config(here))
        stages.append(stage)
        here = _run_of(Path(stage.starting_model))
    return stages


def _read_config(folder: RunFolder) -> Mapping[str, Any]:
    config, _ = read_yaml_mapping(folder.config)
    model = config.get("model")
    path = model.get("path") if isinstance(model, Mapping) else None
    if not isinstance(path, str) or not path:
        raise ValueError(f"{folder.config}: model.path must name the model that the run began from")
    return config


def _run_of(checkpoint: Path) -> RunFolder | None:
    """The run that RUN/final or RUN/checkpoints/checkpoint-N is part of, if it is."""
    if not checkpoint.is_dir():
        return None
    checkpoint = checkpoint.resolve()
    parent = checkpoint.parent if checkpoint.name == "final" else checkpoint.parent.parent
    folder = RunFolder(parent)
    inside = checkpoint.parent in (folder.path, folder.checkpoints)
    return folder if inside and folder.config.is_file() else None
