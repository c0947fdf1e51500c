"""The command that draws the rendered world, or goes on drawing it.

Example:
    python -m data_prep.rendered --out data/rendered --train 360 --dev 100 --test 100 --seed 0
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tqdm import tqdm

from affect.video import FrameBudget, sample_video
from data_prep.rendered.drawing import SIDE_PIXELS
from data_prep.rendered.plan import FRAME_RATE, SPLITS, ClipPlan, plan_clip
from data_prep.rendered.sheet import contact_sheet, write_png
from data_prep.rendered.world import render_world

# What the sheet shows is what a model of this world is given.
SHEET_BUDGET = FrameBudget(fps=2.0, min_pixels=SIDE_PIXELS**2, max_pixels=SIDE_PIXELS**2)


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns 0, or 2 for a request that makes no sense or would mix worlds."""
    args = _parser().parse_args(argv)
    num_clips = {split: int(getattr(args, split)) for split in SPLITS}
    try:
        num_drawn = render_world(
            args.out, num_clips, args.seed, redraw=args.redraw, progress=_progress_bar
        )
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    num_there = sum(num_clips.values()) - num_drawn
    sys.stdout.write(f"{args.out}: {num_drawn} clips drawn, {num_there} were there\n")
    for split in SPLITS:
        sys.stdout.write(
            _describe(split, [plan_clip(args.seed, split, n) for n in range(num_clips[split])])
        )
    num_shown = min(args.sheet, num_clips["train"])
    if num_shown > 0:
        _write_sheet(args.out, [plan_clip(args.seed, "train", n) for n in range(num_shown)])
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m data_prep.rendered",
        description="Draws short labelled clips for trial runs, with SFT and GRPO rows. "
        "A small world for checking the pipeline, not a benchmark.",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to make or to go on with")
    parser.add_argument("--train", type=int, default=360, help="number of clips (default 360)")
    parser.add_argument("--dev", type=int, default=100, help="number of clips (default 100)")
    parser.add_argument("--test", type=int, default=100, help="number of clips (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="another seed is another world")
    parser.add_argument(
        "--redraw", action="store_true", help="first remove what an earlier request made in --out"
    )
    parser.add_argument(
        "--sheet", type=int, default=0, metavar="N", help="also draw N train clips to sheet.png"
    )
    return parser


def _progress_bar(plans: Iterable[ClipPlan]) -> Iterable[ClipPlan]:
    return tqdm(plans, desc="drawing", unit="clip", dynamic_ncols=True)


def _describe(split: str, plans: list[ClipPlan]) -> str:
    """One line: how many clips, segments and seconds, and how the emotions are spread."""
    emotions = Counter(scene.emotion for plan in plans for scene in plan.scenes)
    seconds = sum(plan.duration_seconds for plan in plans)
    spread = ", ".join(f"{emotion} {count}" for emotion, count in emotions.most_common())
    return (
        f"  {split}: {len(plans)} clips, {emotions.total()} segments, {seconds:.0f} s"
        f"{': ' if spread else ''}{spread}\n"
    )


def _write_sheet(out: Path, plans: list[ClipPlan]) -> None:
    clips = []
    for row, plan in enumerate(plans):
        sampled = sample_video(out / plan.video, SHEET_BUDGET)
        frames = sampled.frames[: sampled.num_sampled_frames]
        clips.append((plan.timeline(), list(sampled.times_seconds), frames))
        scenes = ", ".join(
            f"{first / FRAME_RATE:.1f} s {scene.scene.name} ({scene.shape}) {scene.emotion}"
            for first, scene in zip(plan.first_frames, plan.scenes, strict=False)
        )
        sys.stdout.write(f"  row {row}: {plan.id}: {scenes}\n")
    write_png(out / "sheet.png", contact_sheet(clips))
    sys.stdout.write(f"  {out / 'sheet.png'}\n")


if __name__ == "__main__":
    sys.exit(main())
