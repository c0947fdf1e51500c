"""What can be earned without solving the task: under the paper's equations much, hardened little.

The truth is [0, 4] Joy, [4, 9] Fear with reasons of 120 words. Every value is worked out beside
it; weights .10 struct, .25 count, .25 seg, .25 emo, .15 reason.
"""

import math

import pytest

from affect.parsing import parse_reply
from rewards import RewardSet
from tests.rewards.builders import FEAR, JOY, TRUTH, long_reason, reply_text, times

ONE_OFF = math.exp(-1 / 1.5)  # equation 5, one segment too few or too many
GOOD = reply_text((0.0, 4.0, "Joy", JOY), (4.0, 9.0, "Fear", FEAR))


def with_reasons(first: str, second: str) -> str:
    return reply_text((0.0, 4.0, "Joy", first), (4.0, 9.0, "Fear", second))


POLICIES: dict[str, tuple[str, float, float]] = {
    "the truth": (GOOD, 1.0, 1.0),
    # --- fails the strict parse: under hardened nothing at all ---
    # All terms but the form (.5): 1 - .10 * .5
    "one true segment twice": (
        reply_text((0.0, 4.0, "Joy", JOY), (0.0, 4.0, "Joy", FEAR)),
        0.95,
        0.0,
    ),
    # .10 * .5 + .25 * ONE_OFF + .25 + .25 + .15
    "only the first segment": (
        reply_text((0.0, 4.0, "Joy", JOY)),
        0.70 + 0.25 * ONE_OFF,  # .8284
        0.0,
    ),
    "in a code fence": (f"```json\n{GOOD}\n```", 0.95, 0.0),
    "times NaN": (GOOD.replace(": 4.0", ": NaN").replace(": 0.0", ": NaN"), 0.03, 0.0),
    "nothing": ("", 0.03, 0.0),
    # .10 * .5 + .25 + .25 + 0 + .15
    "labels in lower case": (GOOD.replace("Joy", "joy").replace("Fear", "fear"), 0.70, 0.0),
    # --- valid, so hardened must see through them ---
    "filler reasons": (with_reasons("the " * 120, "cat " * 120), 1.0, 0.85),
    # Equation 8 only looks at neighbours, and marks only the second: .85 + .15 / 2
    "one reason for all": (with_reasons(JOY, JOY), 0.925, 0.85),
    # 119 other words without a cue
    "reasons silent on the label": (
        with_reasons(long_reason("so", topic="dance"), long_reason("so", topic="shadow")),
        1.0,
        0.85,
    ),
    # paper: 4 words, Jaccard 3/5: .15 * exp(-116/40)
    "reasons that only name the label": (
        with_reasons("The viewer feels joy.", "The viewer feels fear."),
        0.85 + 0.15 * math.exp(-116 / 40),
        0.85,
    ),
    # One segment over the clip with the later label. IoU 5/9 with [4, 9], 4 s off.
    # paper: .10 + .25 * ONE_OFF + .25 * (5/18 + exp(-8)/2) + .25 + .15            = .6978
    # hardened, over two: .10 + .25 * ONE_OFF + .25 * (5/18 + exp(-4/1)/2)/2 + .125 + .075 = .4642
    "one segment over the clip": (
        reply_text((0.0, 9.0, "Fear", FEAR)),
        0.50 + 0.25 * ONE_OFF + 0.25 * (5 / 18 + math.exp(-8) / 2),
        0.30 + 0.25 * ONE_OFF + 0.125 * (5 / 18 + math.exp(-4) / 2),
    ),
    # The same with a wrong label: emo and, under hardened, reason go too.
    "one segment over the clip, label guessed": (
        reply_text((0.0, 9.0, "Interest", long_reason("interest"))),
        0.25 + 0.25 * ONE_OFF + 0.25 * (5 / 18 + math.exp(-8) / 2),
        0.10 + 0.25 * ONE_OFF + 0.125 * (5 / 18 + math.exp(-4) / 2),
    ),
    # Cut in the middle, both labels guessed: [0,4.5] and [4.5,9] against [0,4] and [4,9], each
    # .5 s off: IoU 4/4.5 = 8/9 and 4.5/5 = .9.
    # paper: .50 + .25 * ((4/9 + .45)/2 + exp(-1)/2)
    # hardened: .35 + .25 * ((4/9 + exp(-.5/.8)/2) + (.45 + exp(-.5/1)/2)) / 2, no emo, no reason
    "cut in the middle, labels guessed": (
        times(0.0, 4.5, 9.0, emotions=("Interest", "Surprise")),
        0.50 + 0.25 * ((4 / 9 + 0.45) / 2 + math.exp(-1) / 2),
        0.35 + 0.125 * (4 / 9 + math.exp(-0.625) / 2 + 0.45 + math.exp(-0.5) / 2),
    ),
    # Nine segments of one second. Each lies inside a true one: IoU 1/4 four times, 1/5 five times.
    "a segment every second": (
        times(*[float(second) for second in range(10)], emotions=("Joy", "Fear") * 5),
        # count exp(-7/1.5); distances 3 and 4 s in every segment: seg
        # (4 * (.125 + exp(-6)/2) + 5 * (.1 + exp(-8)/2)) / 9; emo 0; reason 1
        0.25
        + 0.25 * math.exp(-7 / 1.5)
        + 0.25 * (4 * (0.125 + math.exp(-6) / 2) + 5 * (0.1 + math.exp(-8) / 2)) / 9,
        # two matched of nine: (.125 + exp(-3/.8)/2 + .1 + exp(-4/1)/2) / 9; emo 0; reason 0
        0.10
        + 0.25 * math.exp(-7 / 1.5)
        + 0.25 * (0.125 + math.exp(-3.75) / 2 + 0.1 + math.exp(-4) / 2) / 9,
    ),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("preset", ["paper", "hardened"])
def test_policy_earns_what_was_worked_out(preset: str, name: str) -> None:
    text, paper, hardened = POLICIES[name]
    scores = RewardSet.from_preset(preset).score(parse_reply(text, 9.0, 600), TRUTH)
    assert scores.total == pytest.approx({"paper": paper, "hardened": hardened}[preset], abs=1e-9)


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "the truth"])
def test_hardened_pays_a_degenerate_policy_less(name: str) -> None:
    text, _, _ = POLICIES[name]
    parsed = parse_reply(text, 9.0, 600)
    paper = RewardSet.from_preset("paper").score(parsed, TRUTH).total
    hardened = RewardSet.from_preset("hardened").score(parsed, TRUTH).total
    assert hardened < paper
    assert hardened < 1.0


def test_the_reason_term_alone_pays_filler_and_copies_nothing() -> None:
    rewards = RewardSet.from_preset("hardened")
    for name in (
        "filler reasons",
        "one reason for all",
        "reasons silent on the label",
        "reasons that only name the label",
    ):
        assert rewards.score(parse_reply(POLICIES[name][0], 9.0, 600), TRUTH).reason == 0.0
