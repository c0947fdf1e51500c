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
    """

    name: str
    score_clip: Callable[[Clip], ClipScore]
    failures: str
    metrics: Mapping[str, ratios.Metric] = field(repr=False)


_EMOTION_ACCURACIES = {
    f"emo_acc_at_{threshold}": ratios.emotion_accuracy_at(threshold)
    for threshold in ratios.TIOU_THRESHOLDS
}
_CONDITIONAL_ACCURACIES = {
    f"emo_acc_given_iou_{threshold}": ratios.emotion_accuracy_given_iou(threshold)
    for threshold in ratios.TIOU_THRESHOLDS
}
_LOCALISATION = {
    "sc_acc": ratios.segment_count_accuracy,
    "miou_segment": ratios.miou_segment,
    "miou_video": ratios.miou_video,
}
_EMOTION = {"emo_acc": ratios.emotion_accuracy_at(0.5), **_EMOTION_ACCURACIES}

PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        protocol.name: protocol
        for protocol in (
            Protocol("paper", paper.score_clip, "count as 0", {**_LOCALISATION, **_EMOTION}),
            Protocol(
                "released",
                released.score_clip,
                "left out",
                {**_LOCALISATION, "emo_acc": ratios.label_accuracy, **_CONDITIONAL_ACCURACIES},
            ),
            Protocol(
                "strict",
                strict.score_clip,
                "count as 0",
                {
                    **_LOCALISATION,
                    **_EMOTION,
                    "valid_json": ratios.valid_json,
                    "valid_timeline": ratios.valid_timeline,
                },
            ),
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
