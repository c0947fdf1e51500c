"""A folder of clips and row files: draws what is missing, then writes the rows.

    <out>/request.json                    what the folder's clips come from, written first
    <out>/videos/train/00000.mp4 ...      each through a temporary name and a rename
    <out>/{train,dev,test}.sft.jsonl      rows for the cold start
    <out>/{train,dev,test}.grpo.jsonl     the same clips as rows for GRPO
    <out>/done.json                       written last; its absence means unfinished

A clip that is there is not drawn again, so an interrupted run goes on where it stopped and a larger
request draws only what is new. A folder made from another seed or another version of the world is
refused rather than mixed.

Example:
    >>> render_world(Path("data/rendered"), {"train": 360, "dev": 100, "test": 100}, seed=0)
"""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from affect.atomic import write_text_atomic
from affect.prompts import prompt_hash
from data_prep.export import SPLIT_FILES, export_split
from data_prep.rendered.drawing import draw_frames
from data_prep.rendered.encoding import write_clip
from data_prep.rendered.plan import FRAME_RATE, SPLITS, ClipPlan, plan_clip
from data_prep.rendered.rows import sample_rows

# Raise it whenever the same seed would give other pictures or other labels (a test holds digests
# of both), so that clips of two versions never share a folder.
WORLD_VERSION = 1

Progress = Callable[[Iterable[ClipPlan]], Iterable[ClipPlan]]


def render_world(
    out: Path,
    num_clips: Mapping[str, int],
    seed: int,
    *,
    redraw: bool = False,
    progress: Progress = iter,
) -> int:
    """Makes the folder hold `num_clips` clips of each split; returns how many it had to draw.

    `redraw` first removes what an earlier request made there. `progress` wraps the clips still to
    be drawn (a progress bar).

    Raises ValueError when `out` holds clips of another seed or version, or files that are not ours,
    and for split names or numbers of clips that make no sense.
    """
    _check_counts(num_clips)
    if redraw:
        _remove_world(out)
    origin = {"world_version": WORLD_VERSION, "seed": seed}
    _claim_folder(out, origin)

    plans = [plan_clip(seed, split, index) for split in SPLITS for index in range(num_clips[split])]
    missing = [plan for plan in plans if not (out / plan.video).is_file()]
    done = {
        **origin,
        "num_clips": {split: num_clips[split] for split in SPLITS},
        "prompt_hash": prompt_hash("segment"),
    }
    done_path = out / "done.json"
    if not missing and _read_json(done_path) == done and _row_files_exist(out):
        return 0

    done_path.unlink(missing_ok=True)
    _sweep_parts(out)
    for plan in progress(missing):
        write_clip(out / plan.video, draw_frames(plan), FRAME_RATE)
    for split in SPLITS:
        export_split(out, split, sample_rows(num_clips[split], seed, split))
    write_text_atomic(done_path, json.dumps(done, indent=2) + "\n")
    return len(missing)


def _check_counts(num_clips: Mapping[str, int]) -> None:
    if set(num_clips) != set(SPLITS):
        raise ValueError(
            f"num_clips names {', '.join(sorted(num_clips))}; give one number for each of "
            f"{', '.join(SPLITS)} (0 for none)"
        )
    for split, count in num_clips.items():
        if count < 0:
            raise ValueError(f"{count} {split} clips were asked for; the number cannot be negative")


def _claim_folder(out: Path, origin: dict[str, Any]) -> None:
    """Writes request.json, or checks that the one there tells the same origin."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; give a folder to --out")
    request_path = out / "request.json"
    if not request_path.is_file():
        if (out / "videos").exists():
            raise ValueError(
                f"{out} has a videos folder but no request.json, so this command did not make it; "
                "choose another --out"
            )
        write_text_atomic(request_path, json.dumps(origin, indent=2) + "\n")
        return
    there = _read_json(request_path)
    if there != origin:
        raise ValueError(
            f"{out} holds clips drawn from {json.dumps(there)}, asked for is {json.dumps(origin)}; "
            "choose another --out, or pass --redraw to remove them and draw anew"
        )


def _remove_world(out: Path) -> None:
    """Removes what this module writes, and only from a folder that it has claimed."""
    if not (out / "request.json").is_file():
        return
    (out / "done.json").unlink(missing_ok=True)
    for split in SPLITS:
        for pattern in SPLIT_FILES:
            (out / pattern.format(split=split)).unlink(missing_ok=True)
    if (out / "videos").exists():
        shutil.rmtree(out / "videos")
    (out / "request.json").unlink()


def _sweep_parts(out: Path) -> None:
    """Removes the half-written clips that a killed run left."""
    for part in (out / "videos").glob("*/.*.part"):
        part.unlink(missing_ok=True)


def _row_files_exist(out: Path) -> bool:
    return all(
        (out / pattern.format(split=split)).is_file() for split in SPLITS for pattern in SPLIT_FILES
    )


def _read_json(path: Path) -> Any:
    """The content, or None where there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
