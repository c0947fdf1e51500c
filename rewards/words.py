"""Words of a reason, and what is measured on them.

Example: `split_words("The dog's tail, 2 wags")` is `["the", "dog's", "tail", "2", "wags"]`.

A word is a run of ASCII letters and digits with at most one inner apostrophe, lower-cased after it
was found (lower-casing first would turn the Kelvin sign into a letter). Text in other scripts has
no words.
"""

import re
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)?")

# Any apostrophe but a word's single inner one. Beginning with the literal, it is found by memchr.
_ODD_APOSTROPHE = re.compile(r"'(?:(?![a-z0-9])|(?<![a-z0-9]')|[a-z0-9]+')")

_LOWER_OR_SPACE = bytes(
    ord(chr(byte).lower()) if byte < 128 and (chr(byte).isalnum() or chr(byte) == "'") else ord(" ")
    for byte in range(256)
)


def split_words(text: str) -> list[str]:
    """The words of a text in order, lower-cased."""
    # A character that is not ASCII becomes a question mark, and that a space as all others do that
    # no word holds; then words are what stands between spaces, except at odd apostrophes.
    plain = text.encode("ascii", "replace").translate(_LOWER_OR_SPACE).decode("ascii")
    if "'" in plain and _ODD_APOSTROPHE.search(plain):
        return _WORD.findall(plain)
    return plain.split()


def jaccard(first: Set[str], second: Set[str]) -> float:
    """Size of the intersection over that of the union, in [0, 1]; 1 for two empty sets."""
    shared = len(first & second)
    union = len(first) + len(second) - shared
    return shared / union if union else 1.0


class DistinctWords(NamedTuple):
    """The distinct words of a text, and how often three in a row were none new.

    No more three-word sequences than that can stand in it again: each of their words must have
    stood earlier. In prose of a hundred words it happens once or twice.
    """

    words: set[str]
    num_known_sequences: int


def distinct_words(words: Sequence[str]) -> DistinctWords:
    """Read the words once for both; hardly slower than to make the set alone."""
    distinct: set[str] = set()
    num_known_words = num_known_sequences = 0
    for word in words:
        if word in distinct:
            num_known_words += 1
            if num_known_words > 2:
                num_known_sequences += 1
        else:
            distinct.add(word)
            num_known_words = 0
    return DistinctWords(distinct, num_known_sequences)


def word_sequences(words: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """All runs of `length` neighbouring words (n-grams), in order."""
    return zip(*(words[offset:] for offset in range(length)), strict=False)


def repeated_share(words: Sequence[str]) -> float:
    """Share of three-word sequences that stood earlier in the same text, in [0, 1]."""
    num_distinct = len(set(word_sequences(words, 3)))
    return share_of_sequences(max(0, len(words) - 2) - num_distinct, words)


def share_of_sequences(num_sequences: int, words: Sequence[str]) -> float:
    """So many of the three-word sequences of a text over all of them; 0 where there is none."""
    num_all = len(words) - 2
    return 1.0 - (num_all - num_sequences) / num_all if num_all > 0 else 0.0
