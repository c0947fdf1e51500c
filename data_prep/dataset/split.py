"""Train, dev and test: groups of copies dealt out so that each split looks like the whole.

    split = split_videos(strata, groups, test_share=1441 / 15087, dev_share=0.05, seed=0)
    split["clips/0001.mp4"]       # "train"

Iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011): the stratum with the fewest
videos left is dealt out first, each time to the split that lacks it most. Two things are added.
A group of copies is dealt as one, larger groups first. And a split takes no group that it has no
room for, so the shares are met to the video as long as the groups that are dealt last are single
videos, and within one largest group in any case.

What is left to chance follows from SHA-256 of (seed, the group's first id): the order in which
videos come does not matter. Adding videos may move others, because the shares shift with them.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from data_prep.dataset.copies import Group

SPLITS = ("train", "dev", "test")


def target_counts(num_videos: int, test_share: float, dev_share: float) -> dict[str, int]:
    """How many videos each split should hold. dev_share: of what is not test."""
    num_test = round(num_videos * test_share)
    num_dev = round((num_videos - num_test) * dev_share)
    return {"train": num_videos - num_test - num_dev, "dev": num_dev, "test": num_test}


def split_videos(
    strata: Mapping[str, tuple[str, ...]],
    groups: Sequence[Group],
    *,
    test_share: float,
    dev_share: float,
    seed: int,
) -> dict[str, str]:
    """id -> split, in the order of ids.

    strata: id -> the strata of that video. groups: of ids, each id in exactly one.
    """
    assert sorted(name for group in groups for name in group) == sorted(strata)
    targets = target_counts(len(strata), test_share, dev_share)
    room = _Room(targets, strata)
    sizes = sorted({len(group) for group in groups}, reverse=True)
    for size in sizes:
        same_size = [group for group in groups if len(group) == size]
        _deal(sorted(same_size, key=lambda group: _chance(seed, group)), strata, room)
    return dict(sorted(room.split_of.items()))


def _deal(groups: Sequence[Group], strata: Mapping[str, tuple[str, ...]], room: "_Room") -> None:
    """Deal groups of one size, the rarest stratum first."""
    left: dict[str, dict[Group, int]] = defaultdict(dict)
    num_left: Counter[str] = Counter()
    counts = {group: Counter(one for name in group for one in strata[name]) for group in groups}
    for group in groups:
        for stratum, count in counts[group].items():
            left[stratum][group] = count
            num_left[stratum] += count
    while num_left:
        rarest = min(num_left, key=lambda stratum: (num_left[stratum], stratum))
        for group in list(left[rarest]):
            room.take(group, rarest, counts[group])
            for stratum, count in counts[group].items():
                del left[stratum][group]
                num_left[stratum] -= count
        num_left += Counter()  # drops strata that are dealt out


def _chance(seed: int, group: Group) -> str:
    return hashlib.sha256(f"split, seed {seed}: {min(group)}".encode()).hexdigest()


@dataclass(slots=True)
class _Room:
    """What each split still lacks: videos, and of each stratum."""

    videos: dict[str, int]
    strata: dict[str, dict[str, float]]
    split_of: dict[str, str]

    def __init__(self, targets: Mapping[str, int], strata: Mapping[str, tuple[str, ...]]) -> None:
        num_videos = max(1, len(strata))
        totals = Counter(one for names in strata.values() for one in names)
        self.videos = dict(targets)
        self.strata = {
            stratum: {split: count * targets[split] / num_videos for split in SPLITS}
            for stratum, count in totals.items()
        }
        self.split_of = {}

    def take(self, group: Group, stratum: str, counts: Mapping[str, int]) -> None:
        """Put a group where its stratum is lacked most, among the splits with room for it."""
        fitting = [split for split in SPLITS if self.videos[split] >= len(group)]
        if fitting:
            split = max(fitting, key=lambda one: (self.strata[stratum][one], self.videos[one]))
        else:
            split = max(SPLITS, key=lambda one: self.videos[one])
        self.videos[split] -= len(group)
        for one, count in counts.items():
            self.strata[one][split] -= count
        for name in group:
            self.split_of[name] = split
