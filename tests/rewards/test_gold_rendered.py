"""The rendered world's truths earn full marks, and its reasons need no allowance to do so."""

import pytest

from affect.parsing import parse_reply
from data_prep.rendered.reasons import WORDINGS
from data_prep.rendered.rows import sample_rows
from rewards import RewardSet
from rewards.constants import HARDENED, TERMS
from rewards.filler import profile_reason
from rewards.words import split_words


def test_rendered_truths_earn_everything_under_hardened() -> None:
    rewards = RewardSet.from_preset("hardened")
    for row in sample_rows(60, seed=0):
        assert row.timeline is not None
        parsed = parse_reply(row.timeline.to_json(), row.duration_seconds, 200)
        scores = rewards.score(parsed, row.timeline)
        assert dict(scores) == dict.fromkeys((*TERMS, "total"), 1.0), row.id


@pytest.mark.parametrize("emotion", WORDINGS)
def test_rendered_reasons_pass_the_limits_themselves(emotion: str) -> None:
    for wording in WORDINGS[emotion]:
        reason = wording.format(shape="circle")
        profile = profile_reason(reason, split_words(reason), emotion)
        assert profile.speaks_of_label, reason
        assert profile.num_specific_words == HARDENED.min_specific_words, reason
        assert profile.distinct_share >= HARDENED.min_distinct_share, reason
        assert profile.repeated_share <= HARDENED.max_repeated_share, reason
        assert HARDENED.flat_min_words <= profile.num_words <= HARDENED.flat_max_words, reason
