"""`push_to_hub` in a trainer's configuration: the finished model's export is pushed, once.

transformers' own way uploads raw checkpoints while the run goes on, in the background and without a
card. Here nothing is uploaded before the end; then the main process exports and pushes as
`dar publish model RUN --push-to ...` does, while the others wait.

Example (YAML):
    trainer: {push_to_hub: true, hub_model_id: me/dar-3b, hub_private_repo: true}
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from affect.run_folder import RunFolder
from publish.hub import check_repo_id, read_token
from publish.pushed import is_pushed
from train.sections import TrainRun

PUSH_KEYS = ("push_to_hub", "hub_model_id", "hub_private_repo")
# Keys of transformers that say when and what else to upload; there is only one upload here.
_UNREAD_KEYS = ("hub_strategy", "hub_always_push", "hub_revision")
# A fresh process must not take itself for a part of the training.
_LAUNCHER_PREFIXES = ("ACCELERATE_", "TORCHELASTIC_", "FSDP_", "PET_", "OMPI_", "PMI_")
_LAUNCHER_VARIABLES = {
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"),
    *("GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK", "ROLE_NAME", "ROLE_WORLD_SIZE"),
}
# An upload may take hours, and a process that waits on NCCL is ended after minutes.
_LONGEST_WAIT = timedelta(days=2)


def wants_push(trainer: Mapping[str, Any]) -> bool:
    """Whether a run is to be pushed when it has finished.

    Raises:
        ValueError: it is, and could not be: no hub_model_id, no token, or a key that says how
            transformers would push.
    """
    if not trainer.get("push_to_hub"):
        return False
    for key in _UNREAD_KEYS:
        if key in trainer:
            raise ValueError(f"trainer.{key} is not read: the finished model is pushed, once")
    repo_id = trainer.get("hub_model_id")
    if not isinstance(repo_id, str):
        raise ValueError("trainer.push_to_hub needs trainer.hub_model_id, such as owner/name")
    check_repo_id(repo_id)
    if os.environ.get("RANK", "0") == "0":
        read_token()
    return True


def without_push(trainer: Mapping[str, Any]) -> dict[str, Any]:
    """The settings for TRL, which is to upload nothing.

    Raises:
        ValueError: see `wants_push`.
    """
    wants_push(trainer)
    return {key: value for key, value in trainer.items() if key != "push_to_hub"}


def publish_finished(run: TrainRun) -> int:
    """Export and push a finished run if its configuration says so; called by every process.

    Returns:
        0, or what `dar publish` ended with; the same on every process.
    """
    if not wants_push(run.trainer):
        return 0
    is_main = os.environ.get("RANK", "0") == "0"
    if not (dist.is_available() and dist.is_initialized()):
        return _publish(run) if is_main else 0
    # Over gloo, with a patience of its own, whatever the training talks through.
    waiting: Any = dist.new_group(backend="gloo", timeout=_LONGEST_WAIT)
    codes = [_publish(run) if is_main else 0]
    dist.broadcast_object_list(codes, src=0, group=waiting)
    return codes[0]


def _publish(run: TrainRun) -> int:
    """The command's exit code. In a fresh process: this one would shard a model under ZeRO-3."""
    repo_id = run.trainer["hub_model_id"]
    if is_pushed(RunFolder(run.run_dir), repo_id):
        return 0
    # -P: a folder called publish where the run was started is not ours.
    command = [sys.executable, "-P", "-m", "publish", "model", str(run.run_dir)]
    command += ["--push-to", repo_id, "--device", "cpu"]
    if run.trainer.get("hub_private_repo"):
        command.append("--private")
    return subprocess.run(command, env=_environment(os.environ), check=False).returncode


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in variables.items()
        if name not in _LAUNCHER_VARIABLES and not name.startswith(_LAUNCHER_PREFIXES)
    }
