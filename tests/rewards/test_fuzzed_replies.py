"""Thousands of random and spoilt replies: no exception, no value outside [0, 1], none beats gold.

The full number runs in the slow tier.
"""

import json
import math
import random
import time
from collections import Counter
from itertools import islice

import pytest

from affect.parsing import parse_reply
from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import Segment, Timeline
from rewards import PRESETS, RewardSet, TermScores
from rewards.audit import SHIPPED_ROWS
from rewards.audit_clip import read_clips
from rewards.constants import PAPER, TERMS
from rewards.stock_reasons import stock_reason
from tests.rewards.builders import TRUTH
from tests.rewards.mutated_replies import KINDS, large_replies, replies

NUM_FAST, NUM_SLOW = 1_500, 20_000
NUM_FAST_LARGE, NUM_SLOW_LARGE = 25, 400
MAX_SECONDS = 1.0  # of CPU for one reply, both presets; the largest take about a third here

REWARDS = {preset: RewardSet.from_preset(preset) for preset in PRESETS}
CLIPS = read_clips(SHIPPED_ROWS)[:40]
TRUTHS = [TRUTH, *(clip.truth for clip in CLIPS)]
PROMPT = CLIPS[0].prompt_text


def check(kind: str, text: str, truth: Timeline, num_tokens: int) -> dict[str, TermScores]:
    """Score under both presets, and assert what holds of every reply there is."""
    found = {}
    parsed = parse_reply(text, truth.duration_seconds, num_tokens)
    for preset, rewards in REWARDS.items():
        scores = rewards.score(parsed, truth, PROMPT)
        shown = (preset, kind, text[:300], dict(scores))
        for term in (*TERMS, "total"):
            assert isinstance(scores[term], float), shown
            assert math.isfinite(scores[term]) and 0.0 <= scores[term] <= 1.0, shown
        weighted = sum(PAPER.weights[term] * scores[term] for term in TERMS)
        assert scores.total == pytest.approx(weighted, abs=1e-12), shown
        found[preset] = scores
    if parsed.timeline is None:
        assert set(found["hardened"].values()) == {0.0}, (kind, text[:300])
    return found


def fuzz(num: int, seed: int) -> tuple[Counter[str], list[float]]:
    """How many replies of each kind there were, and the hardened totals of the valid ones."""
    rng = random.Random(seed)
    kinds: Counter[str] = Counter()
    totals = []
    streams = [replies(truth, rng) for truth in TRUTHS]
    for _ in range(num):
        which = rng.randrange(len(TRUTHS))
        kind, text = next(streams[which])
        kinds[kind] += 1
        # Also beside another clip's truth, with another duration.
        for truth in (TRUTHS[which], TRUTHS[which - 1]):
            scores = check(kind, text, truth, rng.randrange(2600))
            if scores["hardened"].struct > 0.0:
                totals.append(scores["hardened"].total)
    return kinds, totals


def assert_reached_the_terms(num: int, kinds: Counter[str], totals: list[float]) -> None:
    """The fuzzing is worth something: every kind came, and many replies got to be scored."""
    assert set(kinds) == set(KINDS)
    assert len(totals) > num / 4
    assert len({round(total, 6) for total in totals}) > num / 10
    assert max(totals) <= 1.0


def test_random_replies_stay_in_their_bounds() -> None:
    assert_reached_the_terms(NUM_FAST, *fuzz(NUM_FAST, seed=1))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_random_replies_stay_in_their_bounds() -> None:
    assert_reached_the_terms(NUM_SLOW, *fuzz(NUM_SLOW, seed=2))


def time_large_replies(num: int, seed: int) -> None:
    rng = random.Random(seed)
    for number, text in enumerate(islice(large_replies(TRUTH, rng), num)):
        began = time.process_time()
        check(f"large {number}", text, TRUTH, 2600)
        spent_seconds = time.process_time() - began
        assert spent_seconds < MAX_SECONDS, (number, len(text), text[:80], spent_seconds)


def test_large_replies_are_finished_with_quickly() -> None:
    time_large_replies(NUM_FAST_LARGE, seed=3)


@pytest.mark.slow
def test_many_large_replies_are_finished_with_quickly() -> None:
    time_large_replies(NUM_SLOW_LARGE, seed=4)


@pytest.mark.parametrize("truth", TRUTHS, ids=range(len(TRUTHS)))
def test_every_truth_here_earns_exactly_one_under_hardened(truth: Timeline) -> None:
    scores = check("truth", truth.to_json(), truth, 300)["hardened"]
    assert dict(scores) == dict.fromkeys((*TERMS, "total"), 1.0)


def segments_text(num: int, reason: str = "joy") -> str:
    segment = {"start_time": 0.0, "end_time": 1.0, "emotion": "Joy", "reason": reason}
    return json.dumps({"segments": [segment] * num})


@pytest.mark.parametrize("num", [1, 256, 257, 2_600, 10_000])
def test_number_of_segments(num: int) -> None:
    text = segments_text(num)
    began = time.process_time()
    found = check(f"{num} segments", text, TRUTH, 2399)
    assert time.process_time() - began < MAX_SECONDS
    # 256 are read of up to 200,000 characters, no segment of longer text; count is exp(-254/1.5).
    num_read = min(num, 256) if len(text) <= 200_000 else 0
    expected = math.exp(-abs(num_read - 2) / 1.5) if num_read else 0.0
    assert found["paper"].count == pytest.approx(expected, abs=1e-300)


def test_the_most_that_can_be_right_is_finished_with_quickly() -> None:
    """256 right segments whose reasons share words: every reason is compared with every other."""
    segments = []
    for index in range(256):
        emotion = DAR_EMOTIONS[index % 27]
        own_words = " ".join(f"detail{index}x{number}" for number in range(8))
        reason = f"{stock_reason(emotion, index, 60)} {own_words}"
        segments.append(Segment(float(index), index + 1.0, emotion, reason))
    truth = Timeline(tuple(segments), 256.0)
    text = truth.to_json()
    assert len(text) > 130_000
    began = time.process_time()
    found = check("256 right segments", text, truth, 300)
    assert time.process_time() - began < MAX_SECONDS
    assert found["hardened"].total == 1.0
