"""Copies: the fast search finds what comparing every pair finds, and follows chains."""

import random
from itertools import combinations

import pytest

from data_prep.build.config import PictureSection
from data_prep.dataset.copies import copy_groups, fingerprint_words, is_evidence, near_pairs
from data_prep.picture.fingerprint import fingerprint_distance
from data_prep.picture.one_pass import look_at
from data_prep.records import Looked
from tests.data_prep.dataset.made_videos import fingerprint_of
from tests.paths import SHARED, needs_shared


def changed(fingerprint: str, num_bits: int, seed: int) -> str:
    """The fingerprint with so many bits flipped."""
    value = int(fingerprint, 16)
    for bit in random.Random(seed).sample(range(1024), num_bits):
        value ^= 1 << bit
    return f"{value:0256x}"


def slow_groups(ids, sha256s, fingerprints, distance):
    """Join any two that are copies until nothing changes."""
    groups = [{name} for name in ids]
    evidence = [is_evidence(one) for one in fingerprints]
    for one, other in combinations(range(len(ids)), 2):
        both = evidence[one] and evidence[other]
        near = both and fingerprint_distance(fingerprints[one], fingerprints[other]) <= distance
        if near or sha256s[one] == sha256s[other]:
            first = next(group for group in groups if ids[one] in group)
            second = next(group for group in groups if ids[other] in group)
            if first is not second:
                first |= second
                groups.remove(second)
    return sorted(tuple(sorted(group)) for group in groups)


def test_equal_to_comparing_every_pair():
    rng = random.Random(3)
    fingerprints, sha256s = [], []
    for number in range(300):
        if number and rng.random() < 0.5:  # around the limit of 96 bits on purpose
            of = rng.choice(fingerprints)
            fingerprints.append(changed(of, rng.choice([0, 5, 60, 95, 96, 97, 110]), number))
        else:
            fingerprints.append(fingerprint_of(str(number)))
        sha256s.append(str(rng.randrange(2000)))
    fingerprints[7] = fingerprints[211] = "0" * 256
    ids = [f"v{number:03d}" for number in range(300)]
    for distance in (0, 3, 6):
        found = copy_groups(ids, sha256s, fingerprints, distance)
        assert found == slow_groups(ids, sha256s, fingerprints, distance)
    assert any(len(group) > 3 for group in found) and any(len(group) == 1 for group in found)


def test_exactly_at_the_limit_is_a_copy_and_one_bit_more_is_none():
    first = fingerprint_of("a")
    for num_bits, grouped in ((96, [("a", "b")]), (97, [("a",), ("b",)])):
        other = changed(first, num_bits, seed=1)
        assert fingerprint_distance(first, other) == num_bits / 16
        assert copy_groups(["a", "b"], ["1", "2"], [first, other], 6) == grouped


def test_copies_of_copies_are_in_one_group():
    chain = [fingerprint_of("a")]
    for seed in range(3):
        chain.append(changed(chain[-1], 90, seed))
    assert fingerprint_distance(chain[0], chain[3]) > 6
    ids = ["d", "b", "c", "a"]
    assert copy_groups(ids, list("1234"), chain, 6) == [("a", "b", "c", "d")]


def test_equal_bytes_are_copies_and_empty_pictures_are_no_evidence():
    black, nearly = "0" * 256, "0" * 240 + "f" * 16
    assert not is_evidence(black) and not is_evidence(nearly)
    ids = ["a", "b", "c"]
    assert copy_groups(ids, ["1", "1", "2"], [black, black, nearly], 6) == [("a", "b"), ("c",)]


def test_half_of_the_frames_with_structure_are_evidence():
    half = fingerprint_of("a")[:128] + "0" * 128
    assert is_evidence(half)
    assert copy_groups(["a", "b"], ["1", "2"], [half, half], 0) == [("a", "b")]


def test_pairs_in_other_blocks_are_found():
    words = fingerprint_words([fingerprint_of(str(number % 600)) for number in range(900)])
    assert sorted(near_pairs(words, 0)) == [(number, number + 600) for number in range(300)]


def test_nothing_and_what_is_no_fingerprint():
    assert copy_groups([], [], [], 6) == []
    for wrong in ("", "ab", "0" * 255, "z" * 256):
        with pytest.raises(ValueError):
            copy_groups(["a"], ["1"], [wrong], 6)


@pytest.mark.slow
@needs_shared
def test_one_film_in_six_codecs_is_one_group_and_other_cuts_of_it_are_others(tmp_path):
    folder, settings = SHARED / "videos" / "derived", PictureSection().model_dump_json()
    copies = ["bbb_av1.mp4", "bbb_h264.mp4", "bbb_hevc.mp4", "bbb_mpeg4.avi", "bbb_vp9.webm"]
    others = ["hardcuts_3.0_7.0_total10.mp4", "rotated_90.mp4", "slideshow_cuts_2_4_6_total8.mp4"]
    names = [*copies, "bbb_mjpeg.mov", *others]  # the .mov is half as wide
    looked = [
        Looked.from_json(look_at(folder / name, settings, str(tmp_path / "pack.zip")))
        for name in names
    ]
    found = copy_groups(names, names, [one.perceptual_hash for one in looked], 6)
    assert tuple(sorted([*copies, "bbb_mjpeg.mov"])) in found
    assert {(name,) for name in others} <= set(found)
