"""Cold start: adapt Qwen2.5-VL to the segment schema by supervised fine-tuning.

One process:  accelerate launch train/sft.py --config configs/sft/demo.yaml
4 x H100:     accelerate launch --config_file configs/accelerate/zero3.yaml \
                  train/sft.py --config configs/sft/paper.yaml

The vision tower is frozen, merger and language model are trained, on the answer's tokens only; with
a `lora` section (configs/sft/demo_lora.yaml) adapters on both are trained instead.
Start the same command again to resume. As in the paper (section 5.1); the loss is the mean over
clips of each clip's mean token loss, which is what its launcher's batch of one amounts to.
"""

import sys
from pathlib import Path

CONFIG_FOLDER = Path(__file__).resolve().parents[1] / "configs" / "sft"


def main(argv: list[str] | None = None) -> int:
    """Read the config (before torch is loaded), train, and save RUN/final."""
    from affect.config import parse_command_line
    from train.sft_config import SftRun
    from train.user_error import is_users_mistake

    arguments = sys.argv[1:] if argv is None else argv
    run = parse_command_line(
        SftRun,
        arguments,
        prog="train/sft.py",
        description="Cold start: supervised fine-tuning on rows of videos and segments.",
        config_folder=CONFIG_FOLDER,
    )
    try:
        return train(run, ["train/sft.py", *arguments])
    except ValueError as error:
        if not is_users_mistake(error):
            raise
        sys.stderr.write(f"train/sft.py: {error}\n")
        return 2


def train(run: "SftRun", command: list[str]) -> int:  # type: ignore[name-defined]  # noqa: F821
    """Train one configured run; see `main`."""
    from train.publishing import publish_finished
    from train.run_start import has_trained, open_run, say, train_to_the_end, trl_arguments

    # Before the other imports: trackio, which TRL loads, asks at once where to write.
    folder = open_run(run, command)
    if folder is None:
        return publish_finished(run)

    from trl import SFTConfig

    from train.bad_clips import clip_replacer
    from train.clips import ClipStore, guarded_reader
    from train.gradient_check import FirstStepGradients
    from train.row_data import check_lengths, load_rows
    from train.sft_trainer import VideoSftCollator, VideoSftTrainer
    from train.start_policy import start_policy
    from train.tower import open_tower_cache

    # Before the model: under ZeRO-3 the arguments decide how it is loaded.
    args = trl_arguments(
        SFTConfig,
        run,
        folder,
        dataset_kwargs={"skip_prepare_dataset": True},
        max_length=None,
    )
    dataset = load_rows(run.data, is_resumed=has_trained(folder))
    model, processor, num_trainable = start_policy(run, args)
    reader = guarded_reader(run.data, folder)
    longest = check_lengths(
        *(dataset, run.data, run.video, processor, run.data.max_tokens, reader),
        is_resumed=has_trained(folder),
    )
    say(f"{len(dataset)} rows; {num_trainable} weight tensors train, the vision tower is frozen")
    tower_cache = open_tower_cache(run, args, model, processor)
    clips = ClipStore(processor, run.data, run.video, reader, tower_cache)
    trainer = VideoSftTrainer(
        model=model,
        args=args,
        train_dataset=dataset,
        processing_class=processor,
        data_collator=VideoSftCollator(
            clips,
            model.config,
            processor.tokenizer.eos_token_id,
            replacer=clip_replacer(clips, dataset, run, folder),
        ),
        callbacks=[FirstStepGradients(model)],
        clips=clips,
    )
    return train_to_the_end(
        trainer, run, folder, max_completion_tokens=2 * longest, before_end=[reader.close]
    )


if __name__ == "__main__":
    sys.exit(main())
