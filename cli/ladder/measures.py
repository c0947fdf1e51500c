"""What the ladder measures of one model's answers: per clip, a part above and a part below a line.

A metric's mean is the sum of its numerators over the sum of its denominators, as everywhere in
`evaluation.metrics`. Rewards and lengths have 1 below the line, so theirs is a plain mean.

    total, struct, count, seg, emo, reason    the hardened preset on the greedy answer
    paper_total                               the paper's preset on it
    strict_..., paper_...                     metrics under the protocols of these names
    valid_json, valid_timeline                shares of clips
    length_tokens, truncated                  tokens of an answer; share cut off at the limit

Example:
    measures = measure(read_truths(rows), read_predictions(path))
    measures.means()["strict_miou"]           # .43
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from affect.prompts import render_segment_prompt
from evaluation.clips import Truth, load_clips
from evaluation.metrics import PROTOCOLS, Clip
from evaluation.metrics.bootstrap import FloatArray, divide
from evaluation.predictions import Answer, PredictionFile
from rewards import RewardSet
from rewards.constants import TERMS

# Name here -> (protocol, its metric). One name per metric, whatever protocols it exists under.
PROTOCOL_METRICS = {
    "strict_miou": ("strict", "miou_segment"),
    "strict_emo_acc": ("strict", "emo_acc"),
    "strict_sc_acc": ("strict", "sc_acc"),
    "paper_miou": ("paper", "miou_segment"),
    "paper_emo_acc": ("paper", "emo_acc"),
    "paper_sc_acc": ("paper", "sc_acc"),
    "valid_json": ("strict", "valid_json"),
    "valid_timeline": ("strict", "valid_timeline"),
}
METRICS = ("total", *TERMS, "paper_total", *PROTOCOL_METRICS, "length_tokens", "truncated")
# Counted in tokens; all others are fractions.
LENGTHS = frozenset({"length_tokens"})


@dataclass(frozen=True, slots=True)
class Measures:
    """Numerators and denominators, each (clips, metrics), with the metrics in `METRICS`' order."""

    numerators: FloatArray
    denominators: FloatArray

    def means(self) -> dict[str, float]:
        """The mean of each metric, NaN where nothing stands below the line."""
        values = divide(self.numerators.sum(axis=0), self.denominators.sum(axis=0))
        return dict(zip(METRICS, values.tolist(), strict=True))


def measure(truths: Sequence[Truth], predictions: PredictionFile) -> Measures:
    """All metrics of one file of predictions, clip by clip in the order of `truths`.

    Raises:
        ValueError: a clip without an answer, or an answer without its length or its end: nothing
            here is defined for it. The error names file and id.
    """
    clips = load_clips(truths, predictions)
    answers = [_answer(predictions, truth.id) for truth in truths]
    hardened, paper = (RewardSet.from_preset(name) for name in ("hardened", "paper"))
    rows: list[list[tuple[float, float]]] = []
    for clip, answer in zip(clips, answers, strict=True):
        assert clip.reply is not None and answer.num_tokens is not None
        prompt = render_segment_prompt(clip.truth.duration_seconds)
        scores = hardened.score(clip.reply, clip.truth, prompt)
        values = [scores["total"], *(scores[term] for term in TERMS)]
        values.append(paper.score(clip.reply, clip.truth, prompt).total)
        rows.append(
            [
                *((value, 1.0) for value in values),
                *_protocol_parts(clip),
                (float(answer.num_tokens), 1.0),
                (float(not answer.finished), 1.0),
            ]
        )
    parts = np.array(rows, dtype=np.float64)
    return Measures(parts[..., 0], parts[..., 1])


def _protocol_parts(clip: Clip) -> list[tuple[float, float]]:
    scores = {name: PROTOCOLS[name].score_clip(clip) for name in ("strict", "paper")}
    return [
        PROTOCOLS[protocol].metrics[metric](scores[protocol])
        for protocol, metric in PROTOCOL_METRICS.values()
    ]


def _answer(predictions: PredictionFile, row_id: str) -> Answer:
    answer = predictions.replies.get(row_id)
    if answer is None or answer.error is not None:
        why = "no line" if answer is None else answer.error
        raise ValueError(
            f"{predictions.path}: {row_id!r} has no answer ({why}); start the prediction again"
        )
    if answer.num_tokens is None or answer.finished is None:
        raise ValueError(
            f"{predictions.path}: the answer to {row_id!r} lacks num_tokens or finished, by which "
            "rewards and truncation are measured"
        )
    return answer
