"""Which model a command means, and the budget and prompt that it was trained with.

A run folder holds `final/`, `checkpoints/checkpoint-N/` and `budget.json`; an exported model has
`budget.json` beside its weights; a model from elsewhere has none and is told one.

Example: `find_checkpoint(run=Path("runs/demo"), step=100).folder`
"""

from dataclasses import dataclass
from pathlib import Path

from affect.prompts import prompt_hash
from affect.run_folder import RunFolder, checkpoint_steps
from affect.trained_budget import (
    BUDGET_FILE,
    ROW_PROMPT,
    SEGMENT_PROMPT,
    TrainedBudget,
    read_budget,
)
from affect.video import FrameBudget

PROMPTS = (SEGMENT_PROMPT, ROW_PROMPT)
DEFAULT_BUDGET = "default"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder with weights, and what it was trained with (None where nothing says so)."""

    folder: Path
    budget: TrainedBudget | None


def find_checkpoint(
    *, run: Path | None = None, model: Path | None = None, step: int | None = None
) -> Checkpoint:
    """The checkpoint of a run (its final one, or that of a step), or a model folder.

    Raises ValueError where the folder is not there, telling which checkpoints are.
    """
    assert (run is None) != (model is None)
    if model is not None:
        folder, budget_paths = model, [model / BUDGET_FILE]
        if not folder.is_dir():
            raise ValueError(f"{folder}: there is no such model folder")
    else:
        assert run is not None
        if not run.is_dir():
            raise ValueError(f"{run}: there is no such run folder")
        places = RunFolder(run)
        folder = places.final if step is None else places.checkpoint(step)
        budget_paths = [places.budget, folder / BUDGET_FILE]
        if not folder.is_dir():
            known = ", ".join(map(str, checkpoint_steps(places.checkpoints))) or "none"
            wanted = "finished model" if step is None else f"checkpoint {step}"
            raise ValueError(f"{run}: has no {wanted} ({folder}); its checkpoints: {known}")
    for path in budget_paths:
        if path.is_file():
            return Checkpoint(folder, read_budget(path))
    return Checkpoint(folder, None)


def named_budget(text: str) -> TrainedBudget:
    """What --budget names: a budget.json, or `default` for 2 fps and 4 to 30 frames.

    Raises ValueError for a file that is none.
    """
    if text == DEFAULT_BUDGET:
        return TrainedBudget(video=FrameBudget())
    return read_budget(Path(text))


def choose_budget(
    checkpoint: Checkpoint, given: TrainedBudget | None, *, allow_other: bool
) -> TrainedBudget:
    """The budget and prompt to predict with.

    Raises ValueError where `given` is not what the checkpoint was trained with, or the prompt's
    text has changed since, unless `allow_other`; and where nothing says which budget to use.
    """
    return _choose(str(checkpoint.folder), checkpoint.budget, given, allow_other)


def given_budget(model: str, given: TrainedBudget | None, *, allow_other: bool) -> TrainedBudget:
    """The budget and prompt for a model on a server, of which nothing is known but its name.

    Raises ValueError where none is given, or the prompt reads differently from the given one's,
    unless `allow_other`.
    """
    return _choose(model, None, given, allow_other)


def _choose(
    name: str, trained: TrainedBudget | None, given: TrainedBudget | None, allow_other: bool
) -> TrainedBudget:
    chosen = given or trained
    if chosen is None:
        raise ValueError(
            f"{name}: has no {BUDGET_FILE}; name one with --budget FILE (such as a run's), or "
            "--budget default for 2 fps and 4 to 30 frames"
        )
    if chosen.prompt not in PROMPTS:
        raise ValueError(f"no prompt called {chosen.prompt!r}; there are {', '.join(PROMPTS)}")
    current = None if chosen.prompt == ROW_PROMPT else prompt_hash(chosen.prompt)
    used = chosen.model_copy(update={"prompt_hash": current})
    if allow_other:
        return used
    if trained is not None and given is not None:
        differing = [
            f"{name}: {in_training} in training, {now} now"
            for name, in_training, now in _differences(trained, given)
        ]
        if differing:
            raise ValueError(
                f"{name} was trained with another budget ({'; '.join(differing)}); "
                "leave --budget away to use its own, or say --allow-other-budget"
            )
    reference = trained or chosen
    if reference.prompt_hash not in (None, current):
        raise ValueError(
            f"the prompt {chosen.prompt!r} reads differently from the one that "
            f"{name} was trained with; say --allow-other-budget to go on all the same"
        )
    return used


def _differences(trained: TrainedBudget, given: TrainedBudget) -> list[tuple[str, object, object]]:
    found: list[tuple[str, object, object]] = []
    video = given.video.model_dump()
    for name, value in trained.video.model_dump().items():
        if video[name] != value:
            found.append((name, value, video[name]))
    if trained.prompt != given.prompt:
        found.append(("prompt", trained.prompt, given.prompt))
    return found
