"""Answering clips in batches against one at a time, on a tiny Qwen2.5-VL of random weights.

    compare_batches(folder, num_clips=32, batch_size=16)
    {"batch_ratio": 4.2, "clips_per_second_alone": 2.9, "clips_per_second_batched": 12.2, ...}

Both ways decode the same drawn clips and write the same number of tokens: random weights hardly
ever end a reply before its limit. One round of each in turn, the best of each counts, after a round
to warm up. `replies_equal` is the share of replies that are the same to the last character both
ways; a batch adds up numbers in another order, so that a near tie between two tokens may fall the
other way.
"""

import time
from pathlib import Path
from typing import Any

from affect.model.tiny import row_texts, save_tiny
from affect.records import Row, read_rows
from affect.video import FrameBudget, GuardedReader
from data_prep.rendered.world import render_world
from evaluation.predictors.local import LocalModel
from evaluation.settings import Sampling

NUM_TOKENS = 64
SEED = 5

# A clip of 56 x 56 pixels stays what it is.
_BUDGET = FrameBudget(min_pixels=56 * 56, max_pixels=56 * 56)


def compare_batches(
    folder: Path, num_clips: int, batch_size: int, num_rounds: int
) -> dict[str, Any]:
    """Clips a second both ways. folder: gets the clips and the model."""
    world = folder / "world"
    render_world(world, {"train": 1, "dev": 1, "test": num_clips}, seed=SEED)
    rows = read_rows(world / "test.sft.jsonl")
    save_tiny(folder / "model", row_texts(world / "test.sft.jsonl"), seed=SEED)
    sizes = {"alone": 1, "batched": batch_size}
    models = {name: _model(folder / "model", world, size) for name, size in sizes.items()}
    texts: dict[str, dict[str, str | None]] = {}
    best: dict[str, float] = {}
    for number in range(num_rounds + 1):
        for name, model in models.items():
            seconds, texts[name] = _answer(model, rows)
            if number:
                best[name] = min(seconds, best.get(name, seconds))
    assert all(text is not None for replies in texts.values() for text in replies.values())
    same = [texts["alone"][row.id] == texts["batched"][row.id] for row in rows]
    return {
        "batch_ratio": round(best["alone"] / best["batched"], 2),
        "clips_per_second_alone": round(num_clips / best["alone"], 2),
        "clips_per_second_batched": round(num_clips / best["batched"], 2),
        "batch_size": batch_size,
        "num_clips_answered": num_clips,
        "tokens_per_reply": NUM_TOKENS,
        "replies_equal": round(sum(same) / len(same), 3),
    }


def _model(folder: Path, world: Path, batch_size: int) -> LocalModel:
    return LocalModel(
        folder,
        _BUDGET,
        "segment",
        Sampling(NUM_TOKENS),
        world,
        GuardedReader(None),
        device="cpu",
        batch_size=batch_size,
    )


def _answer(model: LocalModel, rows: list[Row]) -> tuple[float, dict[str, str | None]]:
    begun = time.monotonic()
    texts = {
        row_id: answer.text for answers in model.answer(rows) for row_id, answer in answers.items()
    }
    return time.monotonic() - begun, texts
