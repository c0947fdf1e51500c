"""Copies of one video: the same bytes, or pictures alike frame by frame.

    copy_groups(["a.mp4", "b.mp4", "c.mp4"], sha256s, fingerprints, max_copy_distance=6)
    -> [("a.mp4", "c.mp4"), ("b.mp4",)]

Being a copy is taken as transitive: a re-encoding of a re-encoding is in the group, too. All
pairs are compared, in blocks of numpy: 15,000 videos are 112 million pairs. Most of them are told
apart by the first quarter of their fingerprints already, and only the others are compared whole;
the result is that of comparing each pair whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from data_prep.picture.fingerprint import HASH_BITS, NUM_FINGERPRINT_FRAMES

MIN_STRUCTURED_FRAMES = NUM_FINGERPRINT_FRAMES // 2
"""A fingerprint with fewer frames that show any structure is no evidence: all black clips would be
copies of each other. Such a video has only copies of the same bytes."""

_FIRST_FRAMES = NUM_FINGERPRINT_FRAMES // 4
_BLOCK_ROWS = 256
_MAX_PAIRS = 200_000

Words = NDArray[np.uint64]

Group = tuple[str, ...]
"""Ids of videos that are copies of each other, sorted; mostly one."""


@dataclass(slots=True)
class _Groups:
    """Union-find over the numbers 0 to n - 1; the root of a group is its smallest number."""

    parents: list[int] = field(default_factory=list)

    def root(self, index: int) -> int:
        while self.parents[index] != index:
            self.parents[index] = self.parents[self.parents[index]]
            index = self.parents[index]
        return index

    def join(self, first: int, second: int) -> None:
        low, high = sorted((self.root(first), self.root(second)))
        self.parents[high] = low


def copy_groups(
    ids: Sequence[str],
    sha256s: Sequence[str],
    fingerprints: Sequence[str],
    max_copy_distance: float,
) -> list[Group]:
    """All ids in groups, a video without copies alone in its own; each group and the list sorted.

    max_copy_distance: mean Hamming distance, of 64, up to which pictures are copies.
    """
    assert len(ids) == len(sha256s) == len(fingerprints) and len(set(ids)) == len(ids)
    groups = _Groups(list(range(len(ids))))
    first_with: dict[str, int] = {}
    for index, sha256 in enumerate(sha256s):
        groups.join(index, first_with.setdefault(sha256, index))
    first_like: dict[str, int] = {}
    for index, fingerprint in enumerate(fingerprints):
        if fingerprint in first_like or is_evidence(fingerprint):
            groups.join(index, first_like.setdefault(fingerprint, index))
    numbers = list(first_like.values())
    for first, second in near_pairs(fingerprint_words(list(first_like)), max_copy_distance):
        groups.join(numbers[first], numbers[second])
    members: dict[int, list[str]] = {}
    for index, name in enumerate(ids):
        members.setdefault(groups.root(index), []).append(name)
    return sorted(tuple(sorted(group)) for group in members.values())


def is_evidence(fingerprint: str) -> bool:
    """Whether enough of a fingerprint's frames have structure to say what the video shows."""
    return int(np.count_nonzero(fingerprint_words([fingerprint]))) >= MIN_STRUCTURED_FRAMES


def fingerprint_words(fingerprints: Sequence[str]) -> Words:
    """The hashes as numbers: (videos, 16) uint64. Raises ValueError for what is no fingerprint."""
    data = bytearray()
    for fingerprint in fingerprints:
        hashes = bytes.fromhex(fingerprint)
        if len(hashes) * 8 != HASH_BITS * NUM_FINGERPRINT_FRAMES:
            raise ValueError(f"{fingerprint[:40]!r} is no fingerprint; look at the video again")
        data += hashes
    words = np.frombuffer(bytes(data), dtype=">u8").astype(np.uint64)
    return words.reshape(len(fingerprints), NUM_FINGERPRINT_FRAMES)


def near_pairs(words: Words, max_copy_distance: float) -> Iterator[tuple[int, int]]:
    """Every pair (i, j), i < j, whose mean Hamming distance is at most `max_copy_distance`."""
    max_bits = max_copy_distance * NUM_FINGERPRINT_FRAMES
    for start in range(0, len(words), _BLOCK_ROWS):
        block, others = words[start : start + _BLOCK_ROWS], words[start:]
        differing = np.zeros((len(block), len(others)), dtype=np.uint16)
        for frame in range(_FIRST_FRAMES):
            differing += np.bitwise_count(block[:, frame, None] ^ others[None, :, frame])
        rows, columns = np.nonzero(differing <= max_bits)
        later = columns > rows
        rows, columns = rows[later], columns[later]
        for at in range(0, len(rows), _MAX_PAIRS):
            some_rows, some_columns = rows[at : at + _MAX_PAIRS], columns[at : at + _MAX_PAIRS]
            bits = np.bitwise_count(block[some_rows] ^ others[some_columns]).sum(axis=1)
            near = bits <= max_bits
            for first, second in zip(some_rows[near], some_columns[near], strict=True):
                yield start + int(first), start + int(second)
