"""How alike the splits came out: every stratum's videos in each split, and how far from even.

    table = balance(strata, split_of)
    table["strata"]["genre: Animals"]
    -> {"num": 3093, "train": 2798, "dev": ..., "test": 295,
        "expected": {"train": 2797.6, ...}, "largest_deviation": 0.4}

`expected` is the stratum's videos by the splits' shares of all videos, `largest_deviation` the
largest distance from it in videos; in words, by how many videos a split is off.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from data_prep.dataset.split import SPLITS


def balance(strata: Mapping[str, tuple[str, ...]], split_of: Mapping[str, str]) -> dict[str, Any]:
    """strata: id -> the video's strata. split_of: id -> its split."""
    sizes = Counter(split_of.values())
    counts = {split: Counter[str]() for split in SPLITS}
    for name, of_video in strata.items():
        counts[split_of[name]].update(of_video)
    totals: Counter[str] = Counter()
    for split in SPLITS:
        totals.update(counts[split])
    table: dict[str, Any] = {}
    for stratum in sorted(totals):
        here = {split: counts[split][stratum] for split in SPLITS}
        expected = {
            split: round(totals[stratum] * sizes[split] / len(split_of), 3) for split in SPLITS
        }
        deviation = max(abs(here[split] - expected[split]) for split in SPLITS)
        table[stratum] = {
            "num": totals[stratum],
            **here,
            "expected": expected,
            "largest_deviation": round(deviation, 3),
        }
    deviations = [one["largest_deviation"] for one in table.values()]
    return {
        "num_videos": {split: sizes[split] for split in SPLITS},
        "largest_deviation": max(deviations, default=None),
        "strata": table,
    }
