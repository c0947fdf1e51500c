"""The choice of one token per reply from its logits.

With top-k only the k likeliest tokens are looked at: in a vocabulary of 151,000, sorting and
summing all of them in float64 would take longer than a small model's forward. Nothing changes in
what is drawn: the tests hold it against the slow way.

Example:
    sampler = Sampler(temperature=0.8, top_k=50, top_p=1.0, banned=torch.tensor([7]))
    chosen, log_probs = sampler(logits, uniforms)     # (R, V) and (R,) in [0, 1) to (R,) and (R,)
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sampler:
    """How tokens are chosen.

    temperature: 0 means the likeliest token each time.
    top_k: 0 means all tokens. top_p: in (0, 1], of what top-k left.
    banned: ids that are never chosen.
    """

    temperature: float
    top_k: int
    top_p: float
    banned: Tensor

    def __call__(self, logits: Tensor, uniforms: Tensor | None) -> tuple[Tensor, Tensor]:
        """Chosen token of each row, and its log-prob before any restriction.

        Args:
            logits: (R, V). uniforms: (R,) float64 in [0, 1); None at temperature 0.

        Returns:
            ids (R,) and float32 log-probs (R,) at the temperature (at 1 where it is 0).
        """
        # A copy in any case: it is written into below.
        scaled = logits.float() / (self.temperature or 1.0)
        total = torch.logsumexp(scaled, dim=-1)
        if len(self.banned):
            scaled.index_fill_(1, self.banned, -torch.inf)
        if uniforms is None:
            chosen = scaled.argmax(dim=-1)
        else:
            ids, left = candidates(scaled, self.top_k, self.top_p)
            place = draw(left, uniforms)
            chosen = place if ids is None else ids.gather(1, place[:, None])[:, 0]
        return chosen, scaled.gather(1, chosen[:, None])[:, 0] - total


def candidates(logits: Tensor, top_k: int, top_p: float) -> tuple[Tensor | None, Tensor]:
    """What the k likeliest and then the nucleus leave of each row.

    Tokens as likely as the k-th stay too. A token is in the nucleus if the mass of those that are
    likelier is under `top_p`, so the likeliest always is.

    Args:
        logits: (R, V); minus infinity for what can't be drawn.

    Returns:
        ids (R, C), rising in each row, and their logits (R, C), minus infinity where a token is
        outside; ids are None where all V are looked at in their own order.
    """
    num_all = logits.shape[-1]
    if 0 < top_k < num_all:
        ordered, ids = logits.topk(top_k, dim=-1)
        # A row with fewer possible tokens than k has no ties to look for.
        smallest = ordered[:, -1:].clamp(min=torch.finfo(logits.dtype).min)
        num_kept = int((logits >= smallest).sum(dim=-1).max())
        if num_kept > top_k:
            ordered, ids = logits.topk(num_kept, dim=-1)
            ordered = ordered.masked_fill(ordered < smallest, -torch.inf)
    elif top_p < 1.0:
        ordered, ids = logits.sort(dim=-1, descending=True)
    else:
        return None, logits
    if top_p < 1.0:
        mass = torch.softmax(ordered, dim=-1)
        before = mass.cumsum(dim=-1).roll(1, dims=-1)
        before[:, 0] = 0.0
        ordered = ordered.masked_fill(before >= top_p, -torch.inf)
    ids, order = ids.sort(dim=-1)
    return ids, ordered.gather(1, order)


def draw(logits: Tensor, uniforms: Tensor) -> Tensor:
    """Place (R,) drawn from each row of logits (R, C) by inverse CDF.

    In float64, so that the tail of a large vocabulary is not lost.
    """
    cumulative = torch.softmax(logits.double(), dim=-1).cumsum(dim=-1)
    total = cumulative[:, -1:].contiguous()
    found = torch.searchsorted(cumulative, uniforms[:, None] * total, right=True)
    # A product that rounds up to the total would fall behind the last token with any mass.
    return torch.minimum(found, torch.searchsorted(cumulative, total))[:, 0]
