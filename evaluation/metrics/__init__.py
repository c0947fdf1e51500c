"""Scores of timelines under named protocols, with bootstrap intervals; no torch, no files.

Example:
    clips = [make_clip(row.id, row.timeline, replies.get(row.id)) for row in rows]
    for row in score_clips(clips, ["strict"]):
        print(row.metric, row.mean, row.low, row.high)
"""

from evaluation.metrics.bootstrap import Bootstrap
from evaluation.metrics.clips import Clip, ClipScore, SegmentPair, make_clip
from evaluation.metrics.protocols import PROTOCOLS, Protocol, choose_protocols
from evaluation.metrics.summary import DifferenceRow, ScoreRow, compare_clips, score_clips

__all__ = [
    "PROTOCOLS",
    "Bootstrap",
    "Clip",
    "ClipScore",
    "DifferenceRow",
    "Protocol",
    "ScoreRow",
    "SegmentPair",
    "choose_protocols",
    "compare_clips",
    "make_clip",
    "score_clips",
]
