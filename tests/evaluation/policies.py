"""Simple policies on a drawn set: what each protocol makes of a fault, measured.

    truths = drawn_truths()                       # 500 clips, always the same
    POLICIES["one segment, Interest"](truths[0])  # a reply's text

docs/protocols.md shows the numbers, and its test keeps them true. A clip lasts 5 s or more and has
1 to 5 segments of 1 s or more; labels are drawn evenly from the 27, neighbours differ.
"""

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import MAX_SEGMENTS, Segment, Timeline

NUM_CLIPS = 500
SEED = 11

Spans = list[tuple[float, float, str]]


def drawn_truths() -> list[Timeline]:
    """The set; equal on every machine, as `random.Random` promises for a seed."""
    source = random.Random(SEED)
    return [_truth(source) for _ in range(NUM_CLIPS)]


def _truth(source: random.Random) -> Timeline:
    num_segments = source.randint(1, 5)
    lengths = [1.0 + source.randint(0, 40) / 10 for _ in range(num_segments)]
    while sum(lengths) < 5.0:
        lengths[-1] += 1.0
    segments: list[Segment] = []
    for length in lengths:
        start = segments[-1].end_seconds if segments else 0.0
        others = [e for e in DAR_EMOTIONS if not segments or e != segments[-1].emotion]
        segments.append(
            Segment(start, round(start + length, 1), source.choice(others), "They dance.")
        )
    return Timeline(tuple(segments), segments[-1].end_seconds)


def _spans(truth: Timeline) -> Spans:
    return [(one.start_seconds, one.end_seconds, one.emotion) for one in truth.segments]


def _reply(spans: Spans) -> str:
    segments: list[dict[str, Any]] = [
        {"start_time": start, "end_time": end, "emotion": emotion, "reason": "They dance."}
        for start, end, emotion in spans
    ]
    return json.dumps({"segments": segments})


def _whole(truth: Timeline, emotion: str) -> str:
    return _reply([(0.0, truth.duration_seconds, emotion)])


def _spurious(truth: Timeline) -> str:
    spans = _spans(truth)
    first_end, first_emotion = spans[0][1], spans[0][2]
    other = "Boredom" if first_emotion != "Boredom" else "Joy"
    return _reply([(0.0, 0.5, other), (0.5, first_end, first_emotion), *spans[1:]])


def _every_other_unreadable(truth: Timeline) -> str:
    # By the clip's own length, so that a policy needs no counter: about half of them.
    return "I can't say." if round(10 * truth.duration_seconds) % 2 else _reply(_spans(truth))


def _all_windows(truth: Timeline) -> str:
    """Interest over every window between whole seconds, as many as a reply may hold."""
    edges = [*range(int(truth.duration_seconds) + 1)]
    windows = [(float(a), float(b), "Interest") for a in edges for b in edges if a < b]
    return _reply(windows[:MAX_SEGMENTS])


def _unsure_end(truth: Timeline) -> str:
    spans = _spans(truth)
    spans[-1] = (spans[-1][0], round(truth.duration_seconds - 0.3, 1), spans[-1][2])
    return _reply(spans)


def _without_last(truth: Timeline) -> str:
    return _reply(_spans(truth)[:-1] or _spans(truth))


def _one_word(truth: Timeline) -> str:
    spans = [(start, end, "or") for start, end, _ in _spans(truth)]
    return _reply(spans)


POLICIES: Mapping[str, Callable[[Timeline], str]] = {
    "the truth": lambda truth: _reply(_spans(truth)),
    "one segment, Interest": lambda truth: _whole(truth, "Interest"),
    "one segment, right first emotion": lambda truth: _whole(truth, truth.segments[0].emotion),
    "the truth after a spurious .5 s": _spurious,
    "the truth without its last segment": _without_last,
    "the truth, about half unreadable": _every_other_unreadable,
    "the truth in a code fence": lambda truth: f"```json\n{_reply(_spans(truth))}\n```",
    "the truth, ending .3 s early": _unsure_end,
    'right times, every label "or"': _one_word,
    "Interest over all windows": _all_windows,
}
