"""Truths and replies for the tests of this folder: written out by hand, or drawn by hypothesis.

Example: `truths, clips = load([("a", [[0, 4, "Joy"], [4, 8, "Fear"]], [[0, 8, "Joy"]])])`
"""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from affect.messages import prompt_from_text
from affect.row import Row
from evaluation.clips import Truth
from evaluation.metrics import Clip, make_clip
from tests.evaluation.files import reply
from tests.evaluation.metrics.test_protocols import timeline

Written = tuple[str, Sequence[Sequence[Any]], Any]


def truth_of(clip_id: str, spans: Sequence[Sequence[Any]], **extra: Any) -> Truth:
    """A row whose clip ends with its last segment."""
    stated = timeline([list(one) for one in spans], float(spans[-1][1]))
    prompt = prompt_from_text("<video>\nSegment this video.")
    row = Row(clip_id, f"{clip_id}.mp4", stated.duration_seconds, None, prompt, stated, extra)
    return Truth(clip_id, stated, row)


def load(written: Sequence[Written]) -> tuple[list[Truth], list[Clip]]:
    """(id, spans of the truth, reply as spans, text or None) of each clip."""
    truths = [truth_of(clip_id, spans) for clip_id, spans, _ in written]
    replies = [
        given if given is None or isinstance(given, str) else reply(given)
        for _, _, given in written
    ]
    clips = [
        make_clip(truth.id, truth.timeline, text)
        for truth, text in zip(truths, replies, strict=True)
    ]
    return truths, clips


_EMOTIONS = ["Joy", "Fear", "Relief", "Awe (or Wonder)"]
_LABELS = [*_EMOTIONS, "Awe", "Happy", "", " Joy ", "(none)", "\ud800", "\x1b[31m", "x" * 100]


@st.composite
def _spans(draw: st.DrawFn) -> list[list[Any]]:
    lengths = draw(st.lists(st.integers(3, 60), min_size=1, max_size=5))
    spans: list[list[Any]] = []
    start = 0
    for length in lengths:
        others = [label for label in _EMOTIONS if not spans or label != spans[-1][2]]
        spans.append([start / 10, (start + length) / 10, draw(st.sampled_from(others))])
        start += length
    return spans


_times = st.integers(-20, 300).map(lambda tenths: tenths / 10) | st.floats(
    allow_nan=False, allow_infinity=False
)
_loose = st.lists(st.tuples(_times, _times, st.sampled_from(_LABELS)), max_size=6)


@st.composite
def written_clips(draw: st.DrawFn) -> list[Written]:
    """1 to 5 clips: replies right, near, loose, broken or missing."""
    written: list[Written] = []
    for number in range(draw(st.integers(1, 5))):
        spans = draw(_spans())
        given: Any = draw(
            st.one_of(
                st.just(spans),
                st.builds(_stretched, _spans(), st.just(spans[-1][1])),
                _loose.map(lambda loose: [list(one) for one in loose]),
                st.sampled_from([None, "no", json.dumps({"segments": "x"})]),
            )
        )
        written.append((str(number), spans, given))
    return written


def _stretched(spans: list[list[Any]], end: float) -> list[list[Any]]:
    factor = end / spans[-1][1]
    edges = [round(one[0] * factor, 1) for one in spans] + [end]
    return [[edges[i], edges[i + 1], one[2]] for i, one in enumerate(spans)]
