"""Stock reasons pass every check of the hardened preset, so that a bound found with them is one."""

from itertools import combinations

import pytest

from affect.prompts import render_segment_prompt
from affect.taxonomy import DAR_EMOTIONS, speaks_of
from rewards.constants import HARDENED, PAPER
from rewards.filler import profile_reason, prompt_share
from rewards.stock_reasons import NUM_POSITIONS, stock_reason, stock_reasons
from rewards.words import jaccard, split_words


@pytest.mark.parametrize("num_words", [20, 120])
@pytest.mark.parametrize("emotion", DAR_EMOTIONS)
def test_a_stock_reason_is_no_filler(emotion: str, num_words: int) -> None:
    for position in range(NUM_POSITIONS):
        reason = stock_reason(emotion, position, num_words)
        words = split_words(reason)
        assert len(words) == num_words
        profile = profile_reason(reason, words, emotion)
        assert profile.distinct_share >= HARDENED.min_distinct_share, reason
        assert profile.repeated_share <= HARDENED.max_repeated_share, reason
        assert profile.num_specific_words >= HARDENED.min_specific_words, reason
        assert speaks_of(reason, emotion), reason
        assert prompt_share(words, render_segment_prompt(9.0)) == 0.0, reason


@pytest.mark.parametrize("num_words", [20, 120])
def test_no_stock_reason_is_a_copy_of_another(num_words: int) -> None:
    sets = [set(split_words(reason)) for reason in stock_reasons(["Joy"] * 6, num_words)]
    assert NUM_POSITIONS == len(sets) == 6
    for first, second in combinations(sets, 2):
        assert jaccard(first, second) <= PAPER.duplicate_jaccard


def test_a_short_stock_reason() -> None:
    assert (
        stock_reason("Empathic Pain", 0, 9)
        == "Here empathic pain takes hold. A figure crosses the."
    )
