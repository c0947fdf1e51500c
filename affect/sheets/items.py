"""What is rated: segments, the key that says where each is from, and each rater's own order.

    items[0].id, items[0].segment                    # "v3f9a1c60d2e4-s1", 0
    orders(items, ("expert_1", "expert_2"), seed=0)["expert_2"]

A rater sees an item's id; it must say nothing that he is not to rate by.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Generic, Self, TypeVar

from affect.frozen import Frozen

KEY_FILE = "key.json"
"""Item -> where it is from. Not for the raters."""


class SheetItem(Frozen):
    """One segment to be rated. segment: its place in its timeline, from 0."""

    id: str
    row_id: str
    video: str
    segment: int
    num_segments: int
    start_seconds: float
    end_seconds: float
    emotion: str
    reason: str


Item = TypeVar("Item", bound=SheetItem)


class SheetKey(Frozen, Generic[Item]):
    """What the sheets hold; the ratings are read back by it."""

    experts: tuple[str, ...]
    seed: int
    items: tuple[Item, ...]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Raises ValueError where the folder holds none."""
        path = folder / KEY_FILE
        if not path.is_file():
            raise ValueError(f"{path}: there is no such file; write the sheets first")
        try:
            return cls.from_json(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: not the key of these sheets: {error}") from error


def expert_names(num_experts: int) -> tuple[str, ...]:
    """`expert_1` and so on. Raises ValueError for fewer than one."""
    if num_experts < 1:
        raise ValueError(f"experts: 1 or more are needed, not {num_experts}")
    return tuple(f"expert_{number}" for number in range(1, num_experts + 1))


def drawn_place(*named: object) -> str:
    """Sorting by it shuffles: by its seed and names alone, whatever else is there to be sorted."""
    text = "/".join(map(str, named))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def orders(
    items: Sequence[Item], experts: Sequence[str], seed: int
) -> Mapping[str, Sequence[Item]]:
    """For each expert all items, video by video in an order of his own; a video's items stay
    together, as they are given. No two orders of videos are equal, as far as there are so many."""
    by_video: dict[str, list[Item]] = {}
    for item in items:
        by_video.setdefault(item.row_id, []).append(item)
    given: dict[str, list[Item]] = {}
    taken: list[list[str]] = []
    for expert in experts:
        draw = random.Random(f"{seed}/{expert}")
        videos = sorted(by_video)
        for _ in range(100):
            draw.shuffle(videos)
            if videos not in taken:
                break
        taken.append(list(videos))
        given[expert] = [item for video in videos for item in by_video[video]]
    return given
