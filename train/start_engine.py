"""The rollout engine of a run: none, one beside this process, or a server that runs already.

Example:
    with started_engine(run, args, folder.path, model, processor) as engine:
        trainer = EngineGrpoTrainer(engine=engine, ...)
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from affect.adapter_config import is_adapter, read_adapter_config
from affect.model.generation import end_token_ids
from affect.model.policy import causal_model
from train.grpo_config import GrpoRun
from train.rollouts import RolloutEngine
from train.run_start import say
from train.vllm_client import EngineClient
from train.vllm_process import OWN_ENVIRONMENT, EngineProcess
from train.vllm_rollouts import VllmRollouts


@contextmanager
def started_engine(
    run: GrpoRun, args: Any, run_folder: Path, model: Any, processor: Any
) -> Iterator[RolloutEngine | None]:
    """The engine that `rollout.engine` asks for, ended when the block is left; None: transformers.

    Args:
        args: TRL's arguments.

    Raises:
        ValueError: the engine does not start, can't be reached, or has too little room.
    """
    if run.rollout.engine == "transformers":
        yield None
        return
    section = run.rollout.vllm
    needed_tokens = run.data.max_prompt_tokens + args.max_completion_length
    sync_folder = (section.sync_folder or run_folder / "vllm_sync").resolve()
    process = None
    if run.rollout.engine == "vllm_server":
        assert section.server_url is not None
        client = EngineClient(section.server_url, section.timeout_seconds)
    else:
        process = EngineProcess(
            section.python
            or (OWN_ENVIRONMENT if OWN_ENVIRONMENT.is_file() else Path(sys.executable)),
            _arguments(run, section.max_model_tokens or needed_tokens, sync_folder),
            run_folder / "vllm" / f"engine_{args.process_index}.log",
        )
        say("starting vLLM ...")
    try:
        if process is not None:
            client = process.wait(section.start_timeout_seconds, section.timeout_seconds)
        engine = VllmRollouts(
            processor,
            causal_model(model).config,
            end_token_ids(causal_model(model), processor),
            sync_folder,
            client,
            process,
        )
    except BaseException:  # whatever ended the start, Ctrl-C too: no engine stays behind
        if process is not None:
            process.close()
        raise
    try:
        if engine.max_model_tokens < needed_tokens:
            say(
                f"the rollout engine takes {engine.max_model_tokens} tokens, prompt and "
                f"completion; {needed_tokens} may be needed (data.max_prompt_tokens + "
                "trainer.max_completion_length). Longer rows are left out and counted in "
                "completions/num_too_long"
            )
        yield engine
    finally:
        engine.close()


def _arguments(run: GrpoRun, max_model_tokens: int, sync_folder: Path) -> list[str]:
    section = run.rollout.vllm
    arguments = [
        *("--model", engine_model(run), "--sync-root", str(sync_folder)),
        *("--max-model-tokens", str(max_model_tokens)),
        *("--dtype", section.dtype or run.model.dtype),
        *("--memory-share", str(section.memory_share)),
    ]
    return [*arguments, "--eager"] if section.eager else arguments


def engine_model(run: GrpoRun) -> str:
    """What the engine loads at its start: the run's model, or the base of its adapter.

    The first sync replaces all of it with what trains, adapter merged.
    """
    path = Path(run.model.path)
    if not is_adapter(path):
        return run.model.path
    return run.model.base or read_adapter_config(path).base
