"""The split: literal shares, whole groups, the same whatever the order, strata spread evenly."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_prep.dataset.balance import balance
from data_prep.dataset.facts import VideoFacts, dominant_emotion, facts_of
from data_prep.dataset.rows import row_of
from data_prep.dataset.split import SPLITS, split_videos, target_counts
from data_prep.dataset.strata import strata_of
from tests.data_prep.dataset.made_videos import finished

PAPER = 1441 / 15087


def made(num_videos: int, seed: int, shares_of_group_sizes=(1.0,)):
    """Strata of videos as skewed as the paper's, and groups of them."""
    rng = random.Random(seed)
    emotions = [f"dominant: {number}" for number in range(27)]
    strata = {
        f"v{number:05d}": (
            rng.choices(emotions, [1 / (rank + 1) for rank in range(27)])[0],
            f"segments: {min(6, 1 + int(rng.expovariate(0.7)))}",
            f"duration: {rng.randrange(6)}",
            f"genre: {rng.choices(range(9), (27, 20, 12, 9, 8, 7, 7, 7, 2))[0]}",
            f"scene: {rng.random() < 0.52}",
        )
        for number in range(num_videos)
    }
    names, groups = sorted(strata), []
    sizes = range(1, len(shares_of_group_sizes) + 1)
    while names:
        size = rng.choices(sizes, shares_of_group_sizes)[0]
        groups.append(tuple(names[:size]))
        names = names[size:]
    return strata, groups


def test_the_papers_counts():
    assert target_counts(15087, PAPER, 0.0) == {"train": 13646, "dev": 0, "test": 1441}
    assert target_counts(15087, PAPER, 0.05) == {"train": 12964, "dev": 682, "test": 1441}
    assert target_counts(0, PAPER, 0.05) == {"train": 0, "dev": 0, "test": 0}
    assert target_counts(4, 0.25, 0.5) == {"train": 1, "dev": 2, "test": 1}


def test_of_the_papers_size_with_copies_the_shares_are_literal_and_strata_even():
    strata, groups = made(15087, seed=1, shares_of_group_sizes=(95, 3, 1, 0.5, 0.5))
    split = split_videos(strata, groups, test_share=PAPER, dev_share=0.05, seed=0)
    table = balance(strata, split)
    assert table["num_videos"] == {"train": 12964, "dev": 682, "test": 1441}
    for name, one in table["strata"].items():
        assert one["largest_deviation"] <= 2 + 0.005 * one["num"], (name, one)


def test_a_rare_stratum_is_shared_out_where_it_can_be():
    strata = {f"v{number:02d}": ("common",) for number in range(80)}
    strata |= {f"w{number:02d}": ("common", "rare") for number in range(20)}
    split = split_videos(
        strata, [(name,) for name in strata], test_share=0.2, dev_share=0.125, seed=4
    )
    assert Counter(split.values()) == {"train": 70, "dev": 10, "test": 20}
    rare = Counter(split[name] for name in strata if name.startswith("w"))
    assert rare == {"train": 14, "dev": 2, "test": 4}


def test_another_seed_is_another_split_and_the_same_seed_the_same():
    strata, groups = made(300, seed=2)
    splits = [
        split_videos(strata, groups, test_share=0.2, dev_share=0.1, seed=seed) for seed in (0, 0, 1)
    ]
    assert splits[0] == splits[1] != splits[2]


@given(
    num_videos=st.integers(0, 60),
    weights=st.lists(st.floats(0.01, 1), min_size=1, max_size=12),
    test_share=st.floats(0, 0.9),
    dev_share=st.floats(0, 0.9),
    seed=st.integers(0, 1000),
)
def test_groups_stay_whole_and_every_video_has_one_split(
    num_videos, weights, test_share, dev_share, seed
):
    strata, groups = made(num_videos, seed, weights)
    shares = {"test_share": test_share, "dev_share": dev_share}
    split = split_videos(strata, groups, **shares, seed=seed)
    assert list(split) == sorted(strata) and set(split.values()) <= set(SPLITS)
    for group in groups:
        assert len({split[name] for name in group}) == 1
    counts, largest = Counter(split.values()), max(map(len, groups), default=0)
    for name, target in target_counts(num_videos, test_share, dev_share).items():
        assert abs(counts[name] - target) <= (0 if largest <= 1 else largest)
    rng = random.Random(seed)
    mixed = dict(sorted(strata.items(), key=lambda _: rng.random()))
    other = [tuple(rng.sample(group, len(group))) for group in rng.sample(groups, len(groups))]
    assert split_videos(mixed, other, **shares, seed=seed) == split


def test_a_group_in_no_list_or_twice_is_our_fault():
    for groups in ([("a",)], [("a",), ("b",), ("b",)]):
        with pytest.raises(AssertionError):
            split_videos({"a": ("x",), "b": ("x",)}, groups, test_share=0.1, dev_share=0, seed=0)


def facts(**changes) -> VideoFacts:
    values = {
        "id": "a", "video": "a", "sha256": "1", "fingerprint": "", "duration_seconds": 9.5,
        "num_segments": 2, "dominant_emotion": "Fear", "genre": "Animals", "scene": "outdoor",
        "provenance": "verified", **changes,
    }  # fmt: skip
    return VideoFacts(**values)


def test_strata():
    assert strata_of(facts()) == (
        "dominant: Fear",
        "segments: 2",
        "duration: 5 to 10 s",
        "genre: Animals",
        "scene: outdoor",
    )
    assert strata_of(facts(genre=None, scene=None)) == strata_of(facts())[:3]
    named = {strata_of(facts(duration_seconds=seconds))[2] for seconds in (4.9, 5, 10, 29, 30, 99)}
    assert named == {f"duration: {one}" for one in (
        "0 to 5 s", "5 to 10 s", "10 to 15 s", "20 to 30 s", "30 s or more",
    )}  # fmt: skip
    assert strata_of(facts(num_segments=6))[1] == strata_of(facts(num_segments=99))[1]


def test_the_dominant_emotion_is_the_one_that_lasts_longest_in_all():
    spans = [(0.0, 3.0, "Joy"), (3.0, 7.0, "Fear"), (7.0, 9.0, "Joy")]
    row = row_of(finished("a.mp4", 9.0, spans))
    assert dominant_emotion(row.timeline) == "Joy"
    assert facts_of(finished("a.mp4", 9.0, spans), row).num_segments == 3
    # .3 + .4 and .7 differ in binary: equally long, so the first one.
    tied = [(0.0, 0.7, "Fear"), (0.7, 1.1, "Joy"), (1.1, 1.6, "Anger"), (1.6, 1.9 + 0.1, "Joy")]
    assert dominant_emotion(row_of(finished("a.mp4", 2.0, tied)).timeline) == "Joy"
    even = [(0.0, 0.7, "Fear"), (0.7, 1.4, "Joy")]
    assert dominant_emotion(row_of(finished("a.mp4", 1.4, even)).timeline) == "Fear"
