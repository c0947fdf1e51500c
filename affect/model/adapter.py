"""LoRA adapters on a Qwen2.5-VL: making, loading, and merging them into the base.

An adapter adds `alpha / rank * B @ A` to the weights of chosen linear layers of the language model
and the merger. On disk it is PEFT's `adapter_model.safetensors` with `adapter_config.json`, which
names the base; `affect.model.load_policy` loads both together.

Example:
    policy = add_adapter(model, base="runs/demo/base", rank=16, alpha=32)
    policy.save_pretrained("runs/demo/sft_lora/final")
    whole = merge_adapter(policy)  # an ordinary Qwen2.5-VL with the same logits
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from affect.adapter_config import (
    ADAPTER_WEIGHTS_FILE,
    DEFAULT_TARGETS,
    PICKLED_WEIGHTS_FILE,
    AdapterConfig,
    read_adapter_config,
)
from affect.model.adapter_targets import adapted_layers, target_modules

ADAPTER = "default"  # the name under which the one adapter that trains is known to PEFT


class AdapterPolicy(PeftModel):  # type: ignore[misc]
    """A Qwen2.5-VL with an adapter; the base is frozen, the adapter `ADAPTER` is what trains.

    Adapter weights are float32 whatever the base's precision, so that small updates are not lost,
    unless `to_base_dtype` was called.
    """

    def __init__(self, model: nn.Module, config: LoraConfig) -> None:
        self.float32_adapter = True
        was_training = model.training
        super().__init__(model, config)
        self.train(was_training)  # PEFT's new modules would otherwise drop out in an eval model

    def add_adapter(self, adapter_name: str, peft_config: LoraConfig, **kwargs: Any) -> None:
        """As PEFT's, in the precision of the first adapter (TRL adds the reference so)."""
        kwargs.setdefault("autocast_adapter_dtype", self.float32_adapter)
        super().add_adapter(adapter_name, peft_config, **kwargs)

    def to_base_dtype(self) -> None:
        """Adapter weights in the base's precision: ZeRO-3 gathers weights of one precision only."""
        self.float32_adapter = False
        for layer in _layers(self):
            for part in (layer.lora_A, layer.lora_B):
                part.to(layer.get_base_layer().weight.dtype)

    def set_dropout(self, dropout: float) -> None:
        """Dropout on the adapter's input from now on, in training mode only."""
        for layer in _layers(self):
            layer.lora_dropout[ADAPTER] = nn.Dropout(dropout) if dropout else nn.Identity()
        self.peft_config[ADAPTER].lora_dropout = dropout

    def save_pretrained(self, save_directory: str | Path, **kwargs: Any) -> None:
        """Only the adapter that trains: its weights (safetensors) and adapter_config.json.

        TRL's frozen reference adapter would be saved beside it, and be all that a resumed run
        loads; embeddings are never an adapter's, and PEFT would ask a hub about them.
        """
        kwargs = {**kwargs, "selected_adapters": [ADAPTER], "save_embedding_layers": False}
        super().save_pretrained(str(save_directory), **kwargs)

    def create_or_update_model_card(self, output_dir: str) -> None:
        """None: PEFT's is an empty form. A card is written when a model is published."""


def add_adapter(
    model: Any,
    *,
    base: str,
    rank: int,
    alpha: float,
    dropout: float = 0.0,
    targets: str | Sequence[str] = DEFAULT_TARGETS,
    seed: int = 0,
) -> AdapterPolicy:
    """Put a new adapter on a plain model, in place; it changes nothing until it has trained.

    Args:
        base: where the model was loaded from, to be recorded; a folder is recorded absolutely.
        targets: see `target_modules`.
        seed: of the adapter's first weights, the same on every process.

    Raises:
        ValueError: the targets reach what must not be adapted, or nothing.
    """
    names = target_modules(model, targets)
    folder = Path(base)
    config = LoraConfig(
        base_model_name_or_path=str(folder.resolve()) if folder.is_dir() else str(base),
        r=rank,
        lora_alpha=alpha,
        lora_dropout=dropout,
        target_modules=targets if isinstance(targets, str) else list(targets),
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        policy = AdapterPolicy(model, config)
    found = {name.removeprefix("base_model.model.") for name in adapted_layers(policy)}
    assert found == set(names), "PEFT reads the targets in another way"
    return policy


def load_adapter(model: Any, folder: Path, *, base: str | None = None) -> AdapterPolicy:
    """Put the adapter of a folder on its base model, in place.

    Args:
        model: the plain base model that the folder's adapter_config.json names.
        base: where that model lies, if no longer where the file says.

    Raises:
        ValueError: no safetensors, broken, not all there, not finite, of another shape than the
            base, or an adapter that reaches the tower, the embeddings or the output layer.
    """
    config = read_adapter_config(folder)
    weights = read_adapter_weights(folder)
    for name, weight in weights.items():
        # Before anything of that size is made.
        if name.endswith("lora_A.weight") and weight.shape[:1] != (config.rank,):
            raise ValueError(f"{folder}: {name} is {tuple(weight.shape)}, but r is {config.rank}")
    try:
        policy = add_adapter(
            model,
            base=base or config.base,
            rank=config.rank,
            alpha=config.alpha,
            dropout=config.dropout,
            targets=config.targets,
        )
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from error
    set_adapter_weights(policy, weights, folder)
    return policy


def read_adapter_weights(folder: Path) -> dict[str, Tensor]:
    """The tensors of adapter_model.safetensors.

    Raises:
        ValueError: there is none, or it can't be read; a pickle is never opened.
    """
    path = folder / ADAPTER_WEIGHTS_FILE
    if not path.is_file():
        pickled = (folder / PICKLED_WEIGHTS_FILE).is_file()
        beside = f"; {PICKLED_WEIGHTS_FILE} is a pickle and is not opened" if pickled else ""
        raise ValueError(f"{folder}: holds no {ADAPTER_WEIGHTS_FILE}{beside}")
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path}: can't be read: {error}") from error


@torch.no_grad()
def set_adapter_weights(policy: AdapterPolicy, weights: dict[str, Tensor], folder: Path) -> None:
    """Copy saved weights into the adapter that trains: each of them, and no other.

    Raises:
        ValueError: names, shapes or numbers that do not fit; `folder` is named.
    """
    parameters = {
        name.replace(f".{ADAPTER}.", "."): parameter
        for name, parameter in policy.named_parameters()
        if f".{ADAPTER}." in name
    }
    for problem, names in (
        ("missing", parameters.keys() - weights.keys()),
        ("of no target module", weights.keys() - parameters.keys()),
    ):
        if names:
            raise ValueError(
                f"{folder}: {len(names)} adapter weights are {problem}, {min(names)} is the first; "
                "the adapter is not whole, or not of this base"
            )
    for name, parameter in parameters.items():
        saved = weights[name]
        if saved.shape != parameter.shape:
            raise ValueError(
                f"{folder}: {name} is {tuple(saved.shape)}, {tuple(parameter.shape)} is needed; "
                "the adapter was trained on another base"
            )
        if not torch.isfinite(saved).all():
            raise ValueError(f"{folder}: {name} holds numbers that are not finite")
    for name, parameter in parameters.items():
        parameter.copy_(weights[name])


def adapter_config(policy: AdapterPolicy) -> AdapterConfig:
    """What a loaded policy's adapter is."""
    config = policy.peft_config[ADAPTER]
    targets = config.target_modules
    return AdapterConfig(
        base=config.base_model_name_or_path,
        rank=config.r,
        alpha=float(config.lora_alpha),
        dropout=config.lora_dropout,
        targets=targets if isinstance(targets, str) else tuple(sorted(targets)),
    )


@torch.no_grad()
def merge_adapter(model: Any) -> Any:
    """The plain `Qwen2_5_VLForConditionalGeneration` that an adapted one amounts to.

    Works on the base in place: `model` itself must not be used afterwards. Names, precision and the
    tied output layer are the base's, so `save_pretrained` writes the base's key set. Sums are taken
    in float32 and rounded once. A model without an adapter comes back as it is.

    Raises:
        ValueError: a merged weight is not finite in the base's precision.
    """
    if not isinstance(model, PeftModel):
        return model
    for name, layer in adapted_layers(model).items():
        weight = layer.get_base_layer().weight
        change = layer.lora_B[ADAPTER].weight.float() @ layer.lora_A[ADAPTER].weight.float()
        merged = (weight.float() + layer.scaling[ADAPTER] * change).to(weight.dtype)
        if not torch.isfinite(merged).all():
            raise ValueError(f"{name}: merged with the adapter it is not finite in {weight.dtype}")
        weight.copy_(merged)
    plain = model.unload()
    plain.disable_input_require_grads()
    plain.requires_grad_(True)  # as a model is when it is loaded
    return plain


def _layers(policy: Any) -> list[Any]:
    return list(adapted_layers(policy).values())
