"""The model that a run starts from, with exactly what trains left unfrozen.

Without `lora` that is everything but the tower. With it, an adapter: a new one on a whole model, or
the one that `model.path` holds, which is then trained on. GRPO's reference is what is loaded here:
TRL keeps a frozen copy of the adapter, so after a cold start with an adapter the reference is base
and adapter, not the bare base.

Example: model, processor, num_trainable = start_policy(run, args)
"""

from typing import Any

from affect.adapter_config import AdapterConfig
from affect.model.adapter import adapter_config, add_adapter
from affect.model.adapter_targets import target_modules
from affect.model.loading import load_policy
from affect.model.policy import causal_model, freeze_tower
from train.lora_config import LoraSection
from train.run_start import say
from train.sections import TrainRun


def start_policy(run: TrainRun, args: Any) -> tuple[Any, Any, int]:
    """Load `run.model`, freeze what does not train, and add the adapter if the run has one.

    Args:
        args: TRL's arguments, which know about sharding.

    Returns:
        model, processor, and the number of weight tensors that train.

    Raises:
        ValueError: see `load_policy`; an adapter without a `lora` section, or with another one.
    """
    model, processor = load_policy(
        run.model.path, dtype=run.model.dtype, attention=run.model.attention, base=run.model.base
    )
    # PEFT freezes the base of an adapter, the tower with it.
    loaded = hasattr(causal_model(model), "peft_config")
    if not loaded:
        freeze_tower(model)
    if run.lora is None:
        if loaded:
            raise ValueError(
                f"model.path {run.model.path} is an adapter; train it on with a lora section (its "
                "rank, alpha and target), or merge it first to train all weights"
            )
    else:
        model = _adapted(model, run, run.lora, loaded)
        plugin = getattr(args, "deepspeed_plugin", None)
        if plugin is not None and plugin.zero_stage == 3:
            model.to_base_dtype()
    return model, processor, sum(weight.requires_grad for weight in model.parameters())


def _adapted(model: Any, run: TrainRun, lora: LoraSection, loaded: bool) -> Any:
    if not loaded:
        model = add_adapter(
            model,
            base=run.model.path,
            rank=lora.rank,
            alpha=lora.alpha,
            dropout=lora.dropout,
            targets=lora.target,
            seed=run.seed,
        )
        say(f"new adapter of rank {lora.rank} on {run.model.path}")
        return model
    found = adapter_config(model)
    same_targets = target_modules(model, found.targets) == target_modules(model, lora.target)
    _refuse_another(run, lora, found, same_targets)
    say(f"training on the adapter of {run.model.path}, of rank {found.rank} on {found.base}")
    if found.dropout != lora.dropout:
        say(f"dropout of the adapter is {lora.dropout} from now on; it was {found.dropout}")
        model.set_dropout(lora.dropout)
    return model


def _refuse_another(
    run: TrainRun, lora: LoraSection, found: AdapterConfig, same_targets: bool
) -> None:
    for name, wanted, there, same in (
        ("rank", lora.rank, found.rank, lora.rank == found.rank),
        ("alpha", lora.alpha, found.alpha, lora.alpha == found.alpha),
        ("target", lora.target, found.targets, same_targets),
    ):
        if not same:
            raise ValueError(
                f"lora.{name} is {wanted}, but the adapter of model.path {run.model.path} has "
                f"{there}; use that, or merge the adapter first to put a new one on it"
            )
