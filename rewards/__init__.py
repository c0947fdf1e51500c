"""What a reply earns: five terms, two presets, an adapter to TRL.

Example::

    from affect.parsing import parse_reply
    from rewards import RewardSet

    scores = RewardSet.from_preset("hardened").score(parse_reply(text, 9.0, num_tokens=310), truth)
    scores.seg, scores["emo"], scores.total

One file per term (structure, count, segmentation, emotion, reason), each with the paper's formula
and the hardened one. Imports `affect` and the standard library, never torch.
"""

from rewards.presets import PRESETS, RewardSet, TermScores

__all__ = ["PRESETS", "RewardSet", "TermScores"]
