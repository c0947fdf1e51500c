"""Which weights a vLLM engine needs, by the names that a checkpoint and the trainer have for them.

vLLM packs some layers into one (q, k and v into qkv) and renames the modules around them. A sync
must give every parameter of the engine exactly once: one that is missing would stay at its old
value without a word.

Example:
    needed = checkpoint_names(["language_model.model.layers.0.self_attn.qkv_proj.weight"])
    # model.language_model.layers.0.self_attn.q_proj.weight, ...k_proj.weight, ...v_proj.weight
    check_exact_cover(needed, sent)
"""

from collections import Counter
from collections.abc import Iterable, Sequence

# The engine's prefix and the checkpoint's, the first that fits.
_PREFIXES = (
    ("language_model.model.", "model.language_model."),
    ("language_model.lm_head.", "lm_head."),
    ("visual.", "model.visual."),
)
# Packed layer -> what it is made of. The tower's qkv is one layer in the checkpoint too.
_PACKED = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
}
_SHOWN = 5


def checkpoint_names(engine_names: Iterable[str]) -> list[str]:
    """The checkpoint's names of a Qwen2.5-VL engine's parameters, in the engine's order.

    Raises:
        ValueError: a parameter under none of the prefixes known.
    """
    names: list[str] = []
    for engine_name in engine_names:
        for prefix, instead in _PREFIXES:
            if engine_name.startswith(prefix):
                name = instead + engine_name.removeprefix(prefix)
                break
        else:
            raise ValueError(
                f"the engine's parameter {engine_name} has no known place in a Qwen2.5-VL "
                "checkpoint; is the engine serving another architecture?"
            )
        parts = name.split(".")
        packed = next((part for part in parts if part in _PACKED), None)
        for part in _PACKED.get(packed or "", (None,)):
            names.append(".".join(part if one == packed and part else one for one in parts))
    return names


def trained_name(name: str) -> str:
    """The checkpoint's name of a parameter of the trained model, PEFT's layers taken out."""
    return name.removeprefix("base_model.model.").replace(".base_layer.", ".")


def check_exact_cover(needed: Sequence[str], given: Sequence[str]) -> None:
    """Every needed name is given once, and nothing else is.

    Raises:
        ValueError: names that are missing, unknown to the engine, or given more than once.
    """
    counts = Counter(given)
    faults = {
        "missing": sorted(set(needed) - counts.keys()),
        "unknown to the engine": sorted(counts.keys() - set(needed)),
        "given more than once": sorted(name for name, count in counts.items() if count > 1),
    }
    told = [
        f"{len(names)} {fault} ({', '.join([*names[:_SHOWN], *(['...'] * (len(names) > _SHOWN))])})"
        for fault, names in faults.items()
        if names
    ]
    if told:
        raise ValueError(
            f"the weights do not cover the rollout engine's {len(set(needed))} exactly: "
            + "; ".join(told)
            + "; the engine must serve the model that trains"
        )
