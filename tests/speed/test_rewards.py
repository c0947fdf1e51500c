"""The command on a few replies: its keys, its replies, equal totals. No timing is asserted."""

import json
import random
from collections import Counter

import pytest

from affect.parsing import parse_reply
from rewards import PRESETS, RewardSet
from rewards.trl_adapter import completion_text, prompt_text
from speed.drawn_replies import REPLIES_PER_GROUP, draw_batches
from speed.rewards import main, score_naive, score_ours, totals

SMALL = ["--number", "16", "--rounds", "2"]


@pytest.mark.parametrize("preset", PRESETS)
def test_json(preset: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--preset", preset, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert list(figures) == ["ours_per_s", "naive_per_s", "ratio"]
    assert all(isinstance(value, float) and value > 0 for value in figures.values())
    assert figures["ratio"] == pytest.approx(
        figures["ours_per_s"] / figures["naive_per_s"], abs=0.01
    )


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--words", "20"]) == 0
    shown = capsys.readouterr().out
    assert "preset hardened, 3 segments with reasons of 20 words, groups of 8" in shown
    assert "ratio" in shown


@pytest.mark.parametrize("option", ["number", "words", "rounds"])
def test_nothing_to_measure(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"--{option}", "0"]) == 2
    assert f"--{option} is 0: give at least 1" in capsys.readouterr().err


@pytest.mark.parametrize("words", [20, 90, 119])
@pytest.mark.parametrize("preset", PRESETS)
def test_both_ways_come_to_the_same(preset: str, words: int) -> None:
    reward_set = RewardSet.from_preset(preset)
    for batch in draw_batches(random.Random(5), 80, words):
        ours = score_ours(reward_set.trl_functions(), batch)
        assert ours == score_naive(reward_set, batch)
        found = totals(reward_set, ours)
        assert len(set(found)) > len(found) / 2  # not one figure for all
        assert all(0.0 < total <= 1.0 for total in found)


def test_replies_are_realistic_and_all_different() -> None:
    batches = draw_batches(random.Random(3), 200, 90)
    assert sum(len(batch.completions) for batch in batches) == 200
    texts = [completion_text(completion) for batch in batches for completion in batch.completions]
    assert len(set(texts)) == len(texts)
    clips = Counter(clip for batch in batches for clip in batch.columns["id"])
    assert set(clips.values()) == {REPLIES_PER_GROUP}
    lengths = []
    for batch in batches:
        columns = zip(batch.completions, batch.columns["video_duration"], strict=True)
        for completion, duration_seconds in columns:
            timeline = parse_reply(completion_text(completion), duration_seconds).timeline
            assert timeline is not None and len(timeline.segments) == 3
            lengths += [len(segment.reason.split()) for segment in timeline.segments]
        for prompt, duration_seconds in zip(
            batch.prompts, batch.columns["video_duration"], strict=True
        ):
            assert f"a silent video of {duration_seconds:.1f} seconds" in prompt_text(prompt)
    assert sum(lengths) / len(lengths) == pytest.approx(90, abs=2)
    assert min(lengths) >= 72 and max(lengths) <= 108


def test_most_reasons_are_read_to_the_end() -> None:
    """Reasons that fail early would be cheap: most earn something, and so are looked at whole."""
    reward_set = RewardSet.from_preset("hardened")
    (batch, *_) = draw_batches(random.Random(1), 64, 119)
    terms = dict(zip(reward_set.terms, score_ours(reward_set.trl_functions(), batch), strict=True))
    worth = [value for value in terms["reason"] if value is not None]
    assert sum(worth) / len(worth) > 0.6


def test_equal_seeds_draw_equal_replies() -> None:
    first, second = (draw_batches(random.Random(4), 16, 30) for _ in range(2))
    assert first == second
    assert first != draw_batches(random.Random(5), 16, 30)
