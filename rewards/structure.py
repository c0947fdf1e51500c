"""Term `struct`, equation 4: the form of the reply, the length of its segments, its own length.

    R = .5 * I(o in J) + .2 * prod_i I(end_i - start_i >= .4 s) + .3 * psi_len(|o|)
    psi_len(n) = exp(-max(0, n - 1200) / 400) if n < 2400 else 0          (n in tokens)

Range [0, 1]. Example: a valid reply of 1,600 tokens with one segment of .3 s earns
.5 + 0 + .3 * exp(-1) = .6104; an empty one has no segment to measure and earns .3 for its length.
"""

import math

from affect.timeline import Segment
from rewards.comparison import Comparison
from rewards.constants import PAPER, ROUNDING, PaperConstants


def length_factor(num_tokens: int | None, constants: PaperConstants = PAPER) -> float:
    """psi_len of equation 4, in [0, 1]; ValueError where the number of tokens is not known."""
    if num_tokens is None:
        raise ValueError(
            "the structure term needs the reply's length in tokens (psi_len of equation 4): pass "
            "num_tokens to parse_reply; it is not estimated from the text"
        )
    if num_tokens >= constants.hard_limit_tokens:
        return 0.0
    surplus_tokens = max(0, num_tokens - constants.soft_limit_tokens)
    return math.exp(-surplus_tokens / constants.length_decay_tokens)


def all_last(segments: tuple[Segment, ...], min_seconds: float) -> bool:
    """Whether there is a segment and every one lasts at least `min_seconds`."""
    return bool(segments) and all(
        segment.end_seconds - segment.start_seconds >= min_seconds - ROUNDING
        for segment in segments
    )


def paper(comparison: Comparison, constants: PaperConstants = PAPER) -> float:
    """Equation 4. The first factor asks for the strict parse, the second sees all segments read."""
    reply = comparison.reply
    return (
        constants.format_share * (reply.timeline is not None)
        + constants.duration_share * all_last(reply.segments, constants.min_segment_seconds)
        + constants.length_share * length_factor(reply.num_tokens, constants)
    )


def hardened(comparison: Comparison, constants: PaperConstants = PAPER) -> float:
    """Equation 4 for what passes the strict parse, nothing for the rest.

    A truth that has a segment under .4 s lowers the limit to that segment's length, so that the
    truth itself earns everything.
    """
    reply = comparison.reply
    length = length_factor(reply.num_tokens, constants)
    if reply.timeline is None:
        return 0.0
    shortest_true_seconds = min(s.end_seconds - s.start_seconds for s in comparison.truth.segments)
    min_seconds = min(constants.min_segment_seconds, shortest_true_seconds)
    return (
        constants.format_share
        + constants.duration_share * all_last(reply.timeline.segments, min_seconds)
        + constants.length_share * length
    )
