"""Settings under which GRPO would tear groups apart or would ignore what the user asked for.

Each is refused before anything trains, by name and with what to change.

Example: check_batch_layout(GRPOConfig(num_generations=8, per_device_train_batch_size=8, ...))
"""

from typing import Any

TRUNCATED_CHOICES = ("keep", "drop", "trl")

# What TRL's own sampling would obey and ours does not have, with the value that means "off".
_IGNORED_WHEN_SAMPLING = {
    "min_p": None,
    "repetition_penalty": 1.0,
    "generation_kwargs": None,
    "cache_implementation": None,
    "use_transformers_continuous_batching": False,
    "use_vllm": False,
}


def check_batch_layout(args: Any) -> None:
    """Refuse settings under which a group or an optimizer step would be torn apart.

    Raises:
        ValueError: names the settings and what to change.
    """
    size, batch = args.num_generations, args.per_device_train_batch_size
    accumulation, cycle = args.gradient_accumulation_steps, args.steps_per_generation
    if batch % size and size % batch:
        raise ValueError(
            f"per_device_train_batch_size ({batch}) must be a multiple of num_generations ({size}) "
            "or divide it, so that whole groups can be told from parts of one; keep the effective "
            "batch with gradient_accumulation_steps"
        )
    if batch * accumulation % size:
        raise ValueError(
            f"per_device_train_batch_size ({batch}) x gradient_accumulation_steps ({accumulation}) "
            f"must be a multiple of num_generations ({size}), so that each process has whole "
            "groups in each optimizer step; raise gradient_accumulation_steps"
        )
    if cycle % accumulation:
        raise ValueError(
            f"steps_per_generation ({cycle}) must be a multiple of gradient_accumulation_steps "
            f"({accumulation}), so that an optimizer step's completions are sampled together"
        )
    updates = cycle * args.num_iterations // accumulation
    # A share of all steps, such as .1, can't be known to fall on a whole cycle.
    if args.save_strategy == "steps" and updates > 1 and args.save_steps % updates:
        raise ValueError(
            f"save_steps ({args.save_steps}) must be a multiple of {updates}, the optimizer steps "
            "per sampling: a checkpoint in between can't restore the sampled completions"
        )


def check_num_rows(args: Any, num_rows: int) -> None:
    """Refuse fewer rows than one sampling takes: TRL would end such a run after zero steps.

    Raises:
        ValueError: names both numbers and the settings.
    """
    num_prompts = args.generation_batch_size // args.num_generations
    if num_rows < num_prompts:
        raise ValueError(
            f"there are {num_rows} rows, but one sampling takes {num_prompts} different ones "
            f"(per_device_train_batch_size {args.per_device_train_batch_size} x "
            f"steps_per_generation {args.steps_per_generation} x processes / num_generations "
            f"{args.num_generations}); "
            "lower these, or give more rows"
        )


def check_sampling(args: Any, truncated: str) -> None:
    """Refuse sampling settings that would have no effect, and two truths about truncation.

    Raises:
        ValueError: names the setting.
    """
    for name, off in _IGNORED_WHEN_SAMPLING.items():
        if getattr(args, name) != off:
            raise ValueError(
                f"{name} ({getattr(args, name)!r}) has no effect here: completions are sampled "
                "with temperature, top_k and top_p; leave it out"
            )
    plugin = getattr(args, "deepspeed_plugin", None)
    if plugin is not None and plugin.zero_stage == 3 and not args.ds3_gather_for_generation:
        raise ValueError(
            "ds3_gather_for_generation is False, but completions are sampled with the weights "
            "gathered: processes take different numbers of steps and would wait for each other's "
            "shards for ever; leave it True, or use ZeRO-2 where a whole model does not fit"
        )
    if truncated not in TRUNCATED_CHOICES:
        raise ValueError(f"truncated is {truncated!r}, not one of {', '.join(TRUNCATED_CHOICES)}")
    if args.mask_truncated_completions != (truncated == "trl"):
        raise ValueError(
            f"mask_truncated_completions is {args.mask_truncated_completions} and truncated is "
            f"{truncated!r}; the first must be True with 'trl' and False with the others"
        )
