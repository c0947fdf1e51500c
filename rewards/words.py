"""Words of a reason, and what is measured on them.

Example: `split_words("The dog's tail, 2 wags")` is `["the", "dog's", "tail", "2", "wags"]`.

A word is a run of ASCII letters and digits with at most one inner apostrophe, lower-cased after it
was found (lower-casing first would turn the Kelvin sign into a letter). Text in other scripts has
no words.
"""

import re
from collections.abc import Sequence, Set

_WORD = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z0-9]+)?")


def split_words(text: str) -> list[str]:
    """The words of a text in order, lower-cased."""
    if text.isascii():  # where the order of the two steps makes no difference but in speed
        return _WORD.findall(text.lower())
    return [word.lower() for word in _WORD.findall(text)]


def jaccard(first: Set[str], second: Set[str]) -> float:
    """Size of the intersection over that of the union, in [0, 1]; 1 for two empty sets."""
    shared = len(first & second)
    union = len(first) + len(second) - shared
    return shared / union if union else 1.0


def word_sequences(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    """All runs of `length` neighbouring words (n-grams), in order."""
    return list(zip(*(words[offset:] for offset in range(length)), strict=False))


def distinct_share(words: Sequence[str]) -> float:
    """Distinct words over all words, in [0, 1]; 0 without a word."""
    return len(set(words)) / len(words) if words else 0.0


def repeated_share(words: Sequence[str]) -> float:
    """Share of three-word sequences that stood earlier in the same text, in [0, 1]."""
    sequences = word_sequences(words, 3)
    return 1.0 - len(set(sequences)) / len(sequences) if sequences else 0.0
