"""A clip's fingerprint: perceptual hashes of 16 frames, by which copies of a clip are found.

    fingerprint_distance(looked.perceptual_hash, other.perceptual_hash)   # 2.1 of 64: a copy

Layout: 16 hashes of 64 bits one after another, each as 16 lower-case hex digits, 256 in all. The
frames lie evenly from the first to the last (the frame nearest to each of 16 instants), so that
another codec, size or frame rate gives nearly the same ones; a clip of fewer frames repeats some.
A hash is imagehash's `phash` of the grey picture: 32 x 32 pixels, the 8 x 8 lowest frequencies of
their cosine transform, one bit each for above the median. A picture without structure (black, one
colour) has no frequencies but its coder's noise, and its hash is 0.
"""

from collections.abc import Sequence

NUM_FINGERPRINT_FRAMES = 16
HASH_BITS = 64
_HASH_DIGITS = HASH_BITS // 4


def fingerprint(hashes: Sequence[int]) -> str:
    """The fingerprint of 16 hashes, each below 2**64, in order of time."""
    assert len(hashes) == NUM_FINGERPRINT_FRAMES, len(hashes)
    return "".join(f"{value:0{_HASH_DIGITS}x}" for value in hashes)


def fingerprint_distance(first: str, second: str) -> float:
    """Mean Hamming distance of two clips' hashes, frame by frame: 0 to 64.

    Re-encodings of one clip lie within about 4, different clips around 30. Raises ValueError for a
    text that is no fingerprint.
    """
    differing = _bits(first) ^ _bits(second)
    return differing.bit_count() / NUM_FINGERPRINT_FRAMES


def _bits(text: str) -> int:
    if len(text) != NUM_FINGERPRINT_FRAMES * _HASH_DIGITS or set(text) - set("0123456789abcdef"):
        raise ValueError(
            f"{text[:40]!r} is no fingerprint of {NUM_FINGERPRINT_FRAMES * _HASH_DIGITS} hex "
            "digits; look at the video again"
        )
    return int(text, 16)
