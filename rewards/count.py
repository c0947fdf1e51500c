"""Term `count`, equation 5: as many segments as the truth has.

    R = exp(-|N_pred - N_gt| / 1.5)

Range (0, 1]; 0 where no segment was read. Example: one segment where two are true earns
exp(-1 / 1.5) = .5134.
"""

import math

from rewards.comparison import Comparison
from rewards.constants import PAPER, PaperConstants


def paper(comparison: Comparison, constants: PaperConstants = PAPER) -> float:
    """Equation 5 over all segments read."""
    num_predicted = len(comparison.reply.segments)
    if num_predicted == 0:
        return 0.0
    difference = abs(num_predicted - len(comparison.truth.segments))
    return math.exp(-difference / constants.count_decay_segments)


def hardened(comparison: Comparison, constants: PaperConstants = PAPER) -> float:
    """Equation 5 for what passes the strict parse, nothing for the rest."""
    return paper(comparison, constants) if comparison.reply.timeline is not None else 0.0
