"""Words, Jaccard similarity and repeats, by hand."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewards.words import (
    distinct_words,
    jaccard,
    repeated_share,
    share_of_sequences,
    split_words,
    word_sequences,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The dog's tail, 2 wags", ["the", "dog's", "tail", "2", "wags"]),
        ("well-lit  ROOM.", ["well", "lit", "room"]),
        ("'quoted' dogs' rock'n'roll", ["quoted", "dogs", "rock'n", "roll"]),
        ("a'1'b", ["a'1", "b"]),
        ("it's' ''twas", ["it's", "twas"]),
        ("snake_case 3.5", ["snake", "case", "3", "5"]),
        ("caf\u00e9 \u559c\u60a6", ["caf"]),
        ("\u212aelvin \u0130s", ["elvin", "s"]),  # lower-casing first would add a k and an i
        (" \n\t", []),
    ],
)
def test_split_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@settings(deadline=None)
@given(
    st.text()
    | st.text(alphabet="a5' ", max_size=12)
    | st.text(alphabet="aZ5'\u2019 -\u00e9\u212a\u0130\ud800\x00\x1c", max_size=12)
)
def test_words_are_what_a_search_finds(text: str) -> None:
    found = re.findall(r"[A-Za-z0-9]+(?:'[A-Za-z0-9]+)?", text)
    assert split_words(text) == [word.lower() for word in found]


def test_jaccard() -> None:
    assert jaccard({"a", "b", "c"}, {"b", "c", "d"}) == 0.5  # 2 of 4
    assert jaccard({"a"}, set()) == 0.0
    assert jaccard(set(), set()) == 1.0


def test_shares() -> None:
    # a b c a b c: sequences abc bca cab abc: one of four stood earlier.
    assert repeated_share(["a", "b", "c", "a", "b", "c"]) == 0.25
    assert repeated_share(["a", "b"]) == 0.0
    assert list(word_sequences(["a", "b", "c"], 2)) == [("a", "b"), ("b", "c")]
    assert list(word_sequences(["a"], 2)) == []
    assert share_of_sequences(1, ["a"] * 6) == 0.25
    assert share_of_sequences(0, ["a"] * 2) == 0.0


def test_distinct_words() -> None:
    # Known already, when they come again: a b, then a b c.
    words = ["a", "b", "c", "a", "b", "d", "a", "b", "c", "a"]
    assert distinct_words(words) == ({"a", "b", "c", "d"}, 2)  # a b c, b c a
    assert distinct_words([]) == (set(), 0)


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcde"), max_size=14))
def test_as_many_sequences_are_known_as_have_three_known_words(words: list[str]) -> None:
    known = [word in words[:place] for place, word in enumerate(words)]
    found = distinct_words(words)
    assert found.words == set(words)
    assert found.num_known_sequences == sum(
        map(all, zip(known, known[1:], known[2:], strict=False))
    )
    assert repeated_share(words) <= share_of_sequences(found.num_known_sequences, words)
