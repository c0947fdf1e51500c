"""Write a run's model as one folder that others load, and load it back before it counts as written.

What is written is compared three times: names with the base's, every tensor with the one in memory,
and what the model says to a prompt with a video, loaded afresh, with what it said before.

Example: `write_model(source, partial, ExportOptions())`
"""

import gc
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig

from affect.adapter_config import read_adapter_config
from affect.model.generation import end_token_ids
from affect.model.loading import DTYPES, load_policy
from affect.trained_budget import BUDGET_FILE
from affect.weights_hash import sha256_of_weights
from publish.base_model import base_ties_head, find_base
from publish.behaviour import NUM_POSITIONS, Behaviour, observe, refuse_difference
from publish.processor_files import write_processor
from publish.record import CheckRecord, ExportOptions, ExportRecord
from publish.source import Source
from publish.weights import (
    base_names,
    check_stored,
    model_tensors,
    stored_dtype,
    write_weights,
)

# Shares of the largest logit. The same weights, loaded again on the same machine, give the same
# numbers up to the order of sums; rounding weights to 8 bits of mantissa costs a few percent.
_LOAD_BACK = {"float32": 1e-5, "bfloat16": 1e-2, "float16": 1e-2}
_ROUNDING = {"float32": 1e-3, "bfloat16": 0.1, "float16": 0.1}
_RECORDED_PACKAGES = ("dynamic-affective-reasoning", "torch", "transformers", "peft", "safetensors")


@dataclass(frozen=True, slots=True)
class Rounded:
    """A model as it is to be written, what it does, and how far that is from the trained one."""

    model: Any
    processor: Any
    behaviour: Behaviour
    dtype: str
    difference: float | None


def write_model(
    source: Source,
    folder: Path,
    options: ExportOptions,
    *,
    device: str | None = None,
    adapter_base: str | None = None,
) -> ExportRecord:
    """Weights, configuration, processor and budget of a run's model, checked; no card yet.

    Args:
        folder: an empty folder.
        device: to compare on; None for the first GPU, else the CPU.
        adapter_base: the folder of an adapter's base, where it is no longer the recorded one.

    Raises:
        ValueError: the checkpoint can't be exported whole, or what was written is not what was
            trained; `folder` then holds something that must not be used.
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    rounded = _load_and_round(source, options, device, adapter_base)
    base = find_base(source.base)
    tensors = model_tensors(rounded.model)
    tied = bool(rounded.model.config.tie_word_embeddings)
    spelling = {name: name for name in tensors}
    if base is not None:
        if base_ties_head(base) not in (None, tied):
            raise ValueError(
                f"{source.checkpoint}: tie_word_embeddings is {tied}, and {not tied} in the base "
                f"{source.base}; one of them is broken, or --base names another model"
            )
        spelling = base_names(base, tied)
    write_weights(folder, tensors, spelling, options.max_shard_size)
    check_stored(folder, tensors, spelling)
    _write_config(rounded, folder)
    _write_generation_config(rounded, source, folder)
    write_processor(rounded.processor, folder)
    source.budget.write(folder / BUDGET_FILE)
    num_tensors, num_parameters = len(tensors), sum(tensor.numel() for tensor in tensors.values())
    behaviour, dtype, difference = rounded.behaviour, rounded.dtype, rounded.difference
    # Two copies of a large model need not fit, and a policy refers to itself.
    del rounded, tensors
    gc.collect()
    loaded_back = observe(*load_policy(folder, dtype=dtype, device=device), source.budget.video)
    return ExportRecord(
        run=source.name,
        step=source.step,
        source_sha256=sha256_of_weights(source.checkpoint),
        sha256=sha256_of_weights(folder),
        options=options,
        dtype=dtype,
        base=source.shown_base,
        base_names_compared=base is not None,
        adapter=_adapter(source),
        num_tensors=num_tensors,
        num_parameters=num_parameters,
        check=CheckRecord(
            num_prompt_tokens=behaviour.prompt.num_tokens,
            num_positions=min(NUM_POSITIONS, behaviour.prompt.num_tokens),
            largest_logit=behaviour.largest_logit,
            load_back_difference=refuse_difference(
                behaviour, loaded_back, f"{folder}: loaded back", tolerance=_LOAD_BACK[dtype]
            ),
            rounding_difference=difference,
        ),
        rendered_prompt=behaviour.texts[0],
        versions=_versions(),
        exported_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _load_and_round(
    source: Source, options: ExportOptions, device: str, adapter_base: str | None
) -> Rounded:
    """The checkpoint in memory, an adapter merged, in the precision that is to be written."""
    stored = _stored_dtype(source, adapter_base)
    wanted = stored if options.dtype == "keep" else options.dtype
    base = {"base": adapter_base} if adapter_base is not None else {}
    model, processor = load_policy(source.checkpoint, dtype=stored, device=device, **base)
    trained = observe(model, processor, source.budget.video)
    if not source.is_adapter and wanted == stored:
        return Rounded(model, processor, trained, wanted, None)
    if source.is_adapter:
        from affect.model.adapter import merge_adapter  # a whole model takes no peft

        model = merge_adapter(model)
    # Parameters only: loading keeps the rotary frequencies, which are buffers, in float32.
    for parameter in model.parameters():
        parameter.data = parameter.data.to(DTYPES[wanted])
    behaviour = observe(model, processor, source.budget.video)
    difference = refuse_difference(
        trained,
        behaviour,
        f"{source.checkpoint}: merged and rounded to {wanted}",
        tolerance=max(_ROUNDING[stored], _ROUNDING[wanted]),
    )
    return Rounded(model, processor, behaviour, wanted, difference)


def _stored_dtype(source: Source, adapter_base: str | None) -> str:
    if not source.is_adapter:
        return stored_dtype(source.checkpoint)
    name = adapter_base or read_adapter_config(source.checkpoint).base
    folder = find_base(name)
    if folder is None:
        raise ValueError(
            f"{source.checkpoint}: the adapter's base model is not at {name}; say where it is with "
            "--adapter-base"
        )
    return stored_dtype(folder)


def _write_config(rounded: Rounded, folder: Path) -> None:
    config = rounded.model.config
    config.architectures = [type(rounded.model).__name__]
    # Trainers switch the cache off for themselves; with it off, serving is many times slower.
    config.use_cache = True
    config.text_config.use_cache = True
    config.text_config.tie_word_embeddings = bool(config.tie_word_embeddings)
    for section in (config, config.text_config, config.vision_config):
        section.dtype = DTYPES[rounded.dtype]
    config.save_pretrained(folder)


def _write_generation_config(rounded: Rounded, source: Source, folder: Path) -> None:
    """Which tokens end and pad a reply, and how long it may be.

    The base's sampling settings stay out: servers apply them unasked (a repetition penalty, say,
    which changes JSON), and no score in the card was made with them.
    """
    tokenizer = rounded.processor.tokenizer
    longest = source.budget.max_completion_tokens
    GenerationConfig(
        bos_token_id=rounded.model.generation_config.bos_token_id,
        eos_token_id=end_token_ids(rounded.model, rounded.processor),
        pad_token_id=tokenizer.pad_token_id,
        do_sample=False,
        **({} if longest is None else {"max_new_tokens": longest}),
    ).save_pretrained(folder)


def _adapter(source: Source) -> dict[str, float] | None:
    if not source.is_adapter:
        return None
    config = read_adapter_config(source.checkpoint)
    return {"rank": config.rank, "alpha": config.alpha}


def _versions() -> dict[str, str]:
    found = {}
    for name in _RECORDED_PACKAGES:
        with suppress(metadata.PackageNotFoundError):  # a whole model takes no peft
            found[name] = metadata.version(name)
    return found
