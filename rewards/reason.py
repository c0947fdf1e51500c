"""Term `reason`, equation 8: how long and how unlike its neighbour each reason is.

    phi(l) = exp(-|l - 120| / 40)
    R = 1/N_pred * sum_i phi(W(r_i)) * (1 - I(Jaccard(r_i, r_{i-1}) > .75))

W counts words (`rewards.words`); Jaccard is that of the two sets of words, 0 for the first segment,
1 for two without a word. Range [0, 1]. Example: two different reasons of 120 and 80 words earn
(1 + exp(-1)) / 2 = .6839; the second a copy of the first, (1 + 0) / 2 = .5.

Nothing in equation 8 looks at the label, the video or the words: 120 words of anything earn 1.0.
Hardened: a reason is worth something only where its segment is right (one-to-one pair, IoU >= .5,
right label) and only if it is no filler, no copy of another reason of the reply, not taken from the
prompt, and speaks of its label. It is then worth its length: 1.0 from 10 to 220 words, falling
smoothly outside. The sum is divided by max(N_pred, N_gt).
"""

import math
from collections.abc import Collection, Mapping, Sequence

from rewards.comparison import Comparison
from rewards.constants import HARDENED, PAPER, HardenedConstants, PaperConstants
from rewards.emotion import right_pairs
from rewards.filler import (
    ReasonProfile,
    is_filler,
    profile_reason,
    prompt_share,
    prompt_share_bound,
    reference_profiles,
)
from rewards.words import DistinctWords, jaccard, split_words


def paper(comparison: Comparison, constants: PaperConstants = PAPER) -> float:
    """Equation 8 over all segments read, in the reply's order; 0 where none was."""
    segments = comparison.reply.segments
    if not segments:
        return 0.0
    total = 0.0
    previous: set[str] | None = None
    for words, (word_set, _) in zip(comparison.words, comparison.distinct_words, strict=True):
        if previous is None or jaccard(word_set, previous) <= constants.duplicate_jaccard:
            distance_words = abs(len(words) - constants.reason_mean_words)
            total += math.exp(-distance_words / constants.reason_decay_words)
        previous = word_set
    return total / len(segments)


def hardened(
    comparison: Comparison,
    constants: PaperConstants = PAPER,
    hardened_constants: HardenedConstants = HARDENED,
) -> float:
    """Worth of the reasons of right segments over the larger count; 0 without a strict parse."""
    timeline = comparison.reply.timeline
    right = right_pairs(comparison, hardened_constants)
    if timeline is None or not right:
        return 0.0
    segments, true_segments = timeline.segments, comparison.truth.segments
    references = reference_profiles(comparison.truth)
    distinct = comparison.distinct_words
    true_of = {pair.predicted: pair.true for pair in comparison.pairs}
    asked = [pair.predicted for pair in right]
    copies = _copies(asked, distinct, true_of, references, constants.duplicate_jaccard)
    total = 0.0
    for pair in right:
        segment, reference = segments[pair.predicted], references[pair.true]
        words = comparison.words[pair.predicted]
        profile = profile_reason(
            segment.reason,
            words,
            segment.emotion,
            hardened_constants,
            distinct[pair.predicted],
        )
        if (
            pair.predicted in copies
            or is_filler(profile, reference, hardened_constants)
            or _is_from_prompt(
                words,
                true_segments[pair.true].reason,
                comparison.prompt_text,
                hardened_constants.max_prompt_share,
            )
        ):
            continue
        total += length_worth(profile.num_words, reference.num_words, hardened_constants)
    return total / comparison.num_slots


def length_worth(
    num_words: int, num_reference_words: int, constants: HardenedConstants = HARDENED
) -> float:
    """1.0 over the flat range, which is widened to hold the reference; exponential outside."""
    low_words = min(constants.flat_min_words, num_reference_words)
    high_words = max(constants.flat_max_words, num_reference_words)
    if num_words < low_words:
        return math.exp(-(low_words - num_words) / constants.short_decay_words)
    return math.exp(-max(0, num_words - high_words) / constants.long_decay_words)


def _copies(
    asked: Collection[int],
    distinct: Sequence[DistinctWords],
    true_of: Mapping[int, int],
    references: Sequence[ReasonProfile],
    limit: float,
) -> set[int]:
    """Those of the reasons `asked` for that share nearly all words with another of the reply.

    Two reasons may be as alike as the references of their segments are.
    """
    copies: set[int] = set()
    for first in asked:
        for second, (word_set, _) in enumerate(distinct):
            if second == first or (second < first and second in asked):  # compared already
                continue
            similarity = jaccard(distinct[first].words, word_set)
            if similarity <= limit:
                continue
            if second in true_of:
                true, other_true = references[true_of[first]], references[true_of[second]]
                if similarity <= jaccard(true.word_set, other_true.word_set):
                    continue
            copies |= {first, second}
    return copies


def _is_from_prompt(words: list[str], true_reason: str, prompt_text: str, limit: float) -> bool:
    """Whether most of a reason stands in the prompt, and more of it than of the reference."""
    if prompt_share_bound(words, prompt_text) <= limit:
        return False
    share = prompt_share(words, prompt_text)
    return share > limit and share > prompt_share(split_words(true_reason), prompt_text)
