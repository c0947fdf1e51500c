"""GRPO on videos: from a cold-started Qwen2.5-VL to one trained on the segment reward.

One process:  accelerate launch train/grpo.py --config configs/grpo/demo.yaml
4 x H100:     accelerate launch --config_file configs/accelerate/zero3.yaml \
                  train/grpo.py --config configs/grpo/paper.yaml --model.path runs/paper/sft/final

The reference policy is the checkpoint of `model.path`, its adapter included if it has one; with a
`lora` section (configs/grpo/demo_lora.yaml) an adapter is trained instead of all weights. Start the
same command again to resume. As in the paper (equations 1 to 9); `reward.preset: hardened` replaces
the terms that can be earned without solving the task, see docs/rewards.md.
"""

import logging
import sys
from pathlib import Path

CONFIG_FOLDER = Path(__file__).resolve().parents[1] / "configs" / "grpo"


def main(argv: list[str] | None = None) -> int:
    """Read the config (before torch is loaded), train, and save RUN/final."""
    from affect.config import parse_command_line
    from train.grpo_config import GrpoRun
    from train.user_error import is_users_mistake

    arguments = sys.argv[1:] if argv is None else argv
    run = parse_command_line(
        GrpoRun,
        arguments,
        prog="train/grpo.py",
        description="GRPO on rows of videos and segments, with the weighted segment reward.",
        config_folder=CONFIG_FOLDER,
    )
    try:
        return train(run, ["train/grpo.py", *arguments])
    except ValueError as error:
        if not is_users_mistake(error):
            raise
        sys.stderr.write(f"train/grpo.py: {error}\n")
        return 2


def train(run: "GrpoRun", command: list[str]) -> int:  # type: ignore[name-defined]  # noqa: F821
    """Train one configured run; see `main`."""
    from rewards import RewardSet
    from train.publishing import publish_finished
    from train.run_start import has_trained, open_run, say, train_to_the_end, trl_arguments

    reward = RewardSet.from_preset(
        run.reward.preset, weights=run.reward.weights, remove=run.reward.remove
    )
    # Before the other imports: trackio, which TRL loads, asks at once where to write.
    folder = open_run(run, command)
    if folder is None:
        return publish_finished(run)

    from trl import GRPOConfig

    from affect.model.shared_prefix_attention import check_attention
    from train.bad_clips import clip_replacer
    from train.clips import ClipStore, guarded_reader
    from train.completion_log import CompletionLog
    from train.engine_trainer import EngineGrpoTrainer
    from train.gradient_check import FirstStepGradients
    from train.log_probs import log_prob_pass
    from train.row_data import check_lengths, load_rows
    from train.start_engine import started_engine
    from train.start_policy import start_policy
    from train.tower import open_tower_cache

    # Before the model: under ZeRO-3 the arguments decide how it is loaded.
    args = trl_arguments(
        GRPOConfig,
        run,
        folder,
        reward_weights=reward.weights,
        mask_truncated_completions=run.rollout.truncated == "trl",
    )
    logging.getLogger("trl.trainer.grpo_trainer").addFilter(_without_dropped_warning)
    if run.log_probs.mode == "shared":
        is_half = args.bf16 or args.fp16 or run.model.dtype != "float32"
        check_attention(run.log_probs.attention, args.device.type, is_half=is_half)
    dataset = load_rows(run.data, is_resumed=has_trained(folder))
    model, processor, num_trainable = start_policy(run, args)
    reader = guarded_reader(run.data, folder)
    check_lengths(
        *(dataset, run.data, run.video, processor, None, reader),
        is_resumed=has_trained(folder),
    )
    tower_cache = open_tower_cache(run, args, model, processor)
    say(f"{len(dataset)} rows; {num_trainable} weight tensors train, the vision tower is frozen")
    clips = ClipStore(processor, run.data, run.video, reader, tower_cache)
    with started_engine(run, args, folder.path, model, processor) as engine:
        trainer = EngineGrpoTrainer(
            model=model,
            reward_funcs=reward.trl_functions(),
            args=args,
            train_dataset=dataset,
            processing_class=processor,
            callbacks=[FirstStepGradients(model)],
            clips=clips,
            replacer=clip_replacer(clips, dataset, run, folder),
            truncated=run.rollout.truncated,
            log_prob_pass=log_prob_pass(
                run.log_probs.mode, run.log_probs.attention, processor.tokenizer.pad_token_id
            ),
            engine=engine,
            logp_alarm=run.rollout.logp_alarm,
            alarm_every_steps=run.rollout.alarm_every_steps,
            stop_on_alarm=run.rollout.stop_on_alarm,
            completion_log=CompletionLog(
                folder.path / "completions", run.rollout.max_decoded_completions, args.report_to
            ),
        )
        cycle = args.steps_per_generation * args.num_iterations // args.gradient_accumulation_steps
        return train_to_the_end(
            *(trainer, run, folder, args.max_completion_length),
            steps_per_sampling=cycle,
            before_end=[reader.close],
        )


def _without_dropped_warning(record: logging.LogRecord) -> bool:
    """A dropped completion has no reward on purpose; it is counted in completions/num_dropped."""
    return "All reward functions returned None" not in record.getMessage()


if __name__ == "__main__":
    sys.exit(main())
