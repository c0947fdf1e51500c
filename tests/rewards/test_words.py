"""Words, Jaccard similarity and repeats, by hand."""

import pytest

from rewards.words import distinct_share, jaccard, repeated_share, split_words, word_sequences


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The dog's tail, 2 wags", ["the", "dog's", "tail", "2", "wags"]),
        ("well-lit  ROOM.", ["well", "lit", "room"]),
        ("'quoted' dogs' rock'n'roll", ["quoted", "dogs", "rock'n", "roll"]),
        ("snake_case 3.5", ["snake", "case", "3", "5"]),
        ("caf\u00e9 \u559c\u60a6", ["caf"]),
        ("\u212aelvin \u0130s", ["elvin", "s"]),  # lower-casing first would add a k and an i
        (" \n\t", []),
    ],
)
def test_split_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_jaccard() -> None:
    assert jaccard({"a", "b", "c"}, {"b", "c", "d"}) == 0.5  # 2 of 4
    assert jaccard({"a"}, set()) == 0.0
    assert jaccard(set(), set()) == 1.0


def test_shares() -> None:
    assert distinct_share(["a", "b", "a", "a"]) == 0.5
    assert distinct_share([]) == 0.0
    # a b c a b c: sequences abc bca cab abc: one of four stood earlier.
    assert repeated_share(["a", "b", "c", "a", "b", "c"]) == 0.25
    assert repeated_share(["a", "b"]) == 0.0
    assert word_sequences(["a", "b", "c"], 2) == [("a", "b"), ("b", "c")]
    assert word_sequences(["a"], 2) == []
