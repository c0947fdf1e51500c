"""How many replies a second the five terms score on one core, and what sharing a parse saves.

    python -m speed.rewards --json
    {"ours_per_s": 7012.3, "naive_per_s": 2480.1, "ratio": 2.83}

*Ours* is what a training run calls: the functions for TRL, one after another on each batch.
*Naive* is the same five terms where each reads the reply and the reference for itself, so that
nothing about them is kept from one term to the next, nor from one reply of a group to the next.
Both score the same replies (`speed.drawn_replies`), all different, and must give the same totals
to the last bit.

Seconds are the process's CPU time, so what else the machine does counts little; everything runs in
one thread with the garbage collector on. A first round fills what is cached for the whole process
(the prompts' word sequences, the words that are cues: naive has them too) and is not counted. Every
round has new replies, and the figures are medians over rounds.
"""

import argparse
import gc
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from affect.parsing import parse_reply
from rewards import PRESETS, RewardSet
from rewards.comparison import Comparison
from rewards.filler import reference_profiles
from rewards.trl_adapter import TermFunction, completion_text, prompt_text, read_truth
from speed.drawn_replies import NUM_SEGMENTS, REPLIES_PER_GROUP, Batch, draw_batches

Values = list[list[float | None]]
"""For each term, in the order of equation 9, its value for every reply."""

MEAN_WORDS = 90
"""Words of a reason, as in annotated clips, which have 77 to 92."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Replies per second of CPU time, and how many times naive's ours is."""

    ours_per_s: float
    naive_per_s: float
    ratio: float


def score_ours(functions: Sequence[TermFunction], batch: Batch) -> Values:
    """All terms through the functions that TRL calls."""
    return [
        function(
            prompts=batch.prompts,
            completions=batch.completions,
            completion_ids=batch.completion_ids,
            **batch.columns,
        )
        for function in functions
    ]


def score_naive(reward_set: RewardSet, batch: Batch) -> Values:
    """All terms, each of which reads the reply and the reference for itself."""
    terms = PRESETS[reward_set.preset]
    return [
        [_read_and_score(terms[name], batch, index) for index in range(len(batch.completions))]
        for name in reward_set.terms
    ]


def _read_and_score(term: Callable[[Comparison], float], batch: Batch, index: int) -> float:
    reference_profiles.cache_clear()  # they are read from the reference
    columns = batch.columns
    truth = read_truth(
        columns["solution"][index], columns["video_duration"][index], columns["id"][index]
    )
    reply = parse_reply(
        completion_text(batch.completions[index]),
        truth.duration_seconds,
        len(batch.completion_ids[index]),
        tolerance_seconds=truth.tolerance_seconds,
    )
    return term(Comparison(reply, truth, prompt_text(batch.prompts[index])))


def totals(reward_set: RewardSet, values: Values) -> list[float]:
    """Equation 9 for every reply."""
    return [
        math.fsum(weight * term for weight, term in zip(reward_set.weights, terms, strict=True))
        for terms in zip(*values, strict=True)
    ]


def measure(preset: str, num_replies: int, words: int, rounds: int, seed: int) -> Speed:
    """Measure both ways of scoring; ValueError where there would be nothing to measure."""
    for name, value in (("number", num_replies), ("words", words), ("rounds", rounds)):
        if value < 1:
            raise ValueError(f"--{name} is {value}: give at least 1")
    reward_set = RewardSet.from_preset(preset)
    functions = reward_set.trl_functions()
    rng = random.Random(seed)
    speeds: list[tuple[float, float]] = []
    for _ in range(rounds + 1):
        batches = draw_batches(rng, num_replies, words)
        ours, our_rate = _timed(lambda batch: score_ours(functions, batch), batches)
        naive, naive_rate = _timed(lambda batch: score_naive(reward_set, batch), batches)
        for one, other in zip(ours, naive, strict=True):
            assert one == other and totals(reward_set, one) == totals(reward_set, other)
        speeds.append((our_rate, naive_rate))
    our_rates, naive_rates = zip(*speeds[1:], strict=True)
    ours_per_s, naive_per_s = statistics.median(our_rates), statistics.median(naive_rates)
    return Speed(round(ours_per_s, 1), round(naive_per_s, 1), round(ours_per_s / naive_per_s, 2))


def _timed(
    score: Callable[[Batch], Values], batches: Sequence[Batch]
) -> tuple[list[Values], float]:
    """What `score` gives for each batch, and its replies per second of CPU time."""
    gc.collect()  # neither pays for what the other left behind
    start = time.process_time()
    values = [score(batch) for batch in batches]
    seconds = time.process_time() - start
    return values, sum(len(batch.completions) for batch in batches) / seconds


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code, 2 for options that make no sense."""
    options = _options(argv)
    try:
        speed = measure(options.preset, options.number, options.words, options.rounds, options.seed)
    except ValueError as error:
        sys.stderr.write(f"speed.rewards: {error}\n")
        return 2
    if options.json:
        sys.stdout.write(json.dumps(asdict(speed)) + "\n")
    else:
        sys.stdout.write(
            f"preset {options.preset}, {NUM_SEGMENTS} segments with reasons of {options.words} "
            f"words, groups of {REPLIES_PER_GROUP}\n"
            f"one parse for all terms   {speed.ours_per_s:8,.0f} replies per second of one core\n"
            f"each term parses          {speed.naive_per_s:8,.0f}\n"
            f"ratio                     {speed.ratio:8.2f}\n"
        )
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m speed.rewards",
        description=(
            "Replies that the five terms score in a second on one core, beside the same terms each "
            "parsing reply and reference. Seconds are the process's CPU time, so other load counts "
            "little; figures are medians over rounds of replies that are all different."
        ),
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--preset", choices=list(PRESETS), default="hardened", help="of the terms")
    parser.add_argument("--number", type=int, default=2048, help="replies in a round")
    parser.add_argument(
        "--words", type=int, default=MEAN_WORDS, help="mean words of a reason; DAR's data have 119"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds that are counted")
    parser.add_argument("--seed", type=int, default=0, help="of the replies")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
