"""The three named protocols, each a way to pair segments and a list of metrics.

    paper      best overlap per true segment; every true segment counts
    released   the authors' script: pairs by index, repairs, failures left out
    strict     one to one, nothing repaired, failures count as 0: the headline

Example: `PROTOCOLS["strict"].score_clip(clip)`; `tuple(PROTOCOLS)` is the order of the tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from evaluation.metrics import paper, ratios, released, strict
from evaluation.metrics.clips import Clip, ClipScore


@dataclass(frozen=True)
class Protocol:
    """A named way to score.

    metrics: name -> ratio, in the order of the tables.
    failures: how a clip without a usable reply enters, in words for the tables.
    tiou_slack: how far below a threshold a tIoU may lie and still reach it.
    """

    name: str
    score_clip: Callable[[Clip], ClipScore]
    failures: str
    metrics: Mapping[str, ratios.Metric] = field(repr=False)
    tiou_slack: float = ratios.THRESHOLD_SLACK


_LOCALISATION = {
    "sc_acc": ratios.segment_count_accuracy,
    "miou_segment": ratios.miou_segment,
    "miou_video": ratios.miou_video,
}
_VALIDITY = {"valid_json": ratios.valid_json, "valid_timeline": ratios.valid_timeline}


def _emotion_accuracies(slack: float) -> dict[str, ratios.Metric]:
    """Each threshold with both denominators: all places, and those that reach it."""
    at = {f"emo_acc_at_{t}": ratios.emotion_accuracy_at(t, slack) for t in ratios.TIOU_THRESHOLDS}
    given = {
        f"emo_acc_given_iou_{t}": ratios.emotion_accuracy_given_iou(t, slack)
        for t in ratios.TIOU_THRESHOLDS
    }
    return {**at, **given}


_OURS = {
    **_LOCALISATION,
    "emo_acc": ratios.emotion_accuracy_at(ratios.GOOD_TIOU, ratios.THRESHOLD_SLACK),
    **_emotion_accuracies(ratios.THRESHOLD_SLACK),
}
_RELEASED = {
    **_LOCALISATION,
    "emo_acc": ratios.label_accuracy,
    **_emotion_accuracies(ratios.NO_SLACK),
}

PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        protocol.name: protocol
        for protocol in (
            Protocol("paper", paper.score_clip, "count as 0", _OURS),
            Protocol(
                "released", released.score_clip, "left out", _RELEASED, tiou_slack=ratios.NO_SLACK
            ),
            Protocol("strict", strict.score_clip, "count as 0", {**_OURS, **_VALIDITY}),
        )
    }
)


def choose_protocols(names: tuple[str, ...] | list[str] | None) -> tuple[Protocol, ...]:
    """The protocols of these names, all where none is named; ValueError for an unknown name."""
    if not names:
        return tuple(PROTOCOLS.values())
    unknown = [name for name in names if name not in PROTOCOLS]
    if unknown:
        raise ValueError(f"no protocol called {unknown[0]!r}; there are {', '.join(PROTOCOLS)}")
    return tuple(PROTOCOLS[name] for name in dict.fromkeys(names))
