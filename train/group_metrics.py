"""How much the rewards of one prompt's completions differ: without spread there is no gradient.

Example: group_spread(rewards_per_term, weights, num_generations=8)[-1]  # of the weighted total
"""

import torch
from torch import Tensor


def group_spread(rewards_per_term: Tensor, weights: Tensor, num_generations: int) -> list[float]:
    """Mean over groups of the standard deviation within a group: per term, then of the total.

    Args:
        rewards_per_term: (B*G, K), NaN where a completion has no reward; groups stand together.
        weights: (K,) weights of the total.

    Returns:
        K + 1 values (unbiased, in the reward's unit); NaN where no group has two scored members.
    """
    unscored = rewards_per_term.isnan().all(dim=1)
    total = (rewards_per_term * weights).nansum(dim=1).masked_fill(unscored, torch.nan)
    columns = torch.cat([rewards_per_term, total[:, None]], dim=1)
    groups = columns.view(-1, num_generations, columns.shape[1])
    scored = ~groups.isnan()
    count = scored.sum(dim=1)
    mean = groups.nansum(dim=1) / count
    squares = ((groups - mean[:, None]) ** 2).nansum(dim=1)
    deviations = (squares / (count - 1)).sqrt().masked_fill(count < 2, torch.nan)
    return [float(value) for value in deviations.nanmean(dim=0)]
