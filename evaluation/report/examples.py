"""The page's examples as compact JSON: every clip, its truth, and every run's answer to it.

    value = examples_of(runs, videos, embedded)
    value["clips"][0]
    # ["test/00000", "../../data/test/00000.mp4", -1, 6.0, 0, -1, 1,    id, url, problem, seconds,
    #  [[0.0, 2.4, 0, 0], [2.4, 6.0, 1, 1]],                            genre, scene, source, truth
    #  [[5, 0.71, 0.5, [[0.0, 3.0, 0, 2], ...], [[0, 0, 0.8], ...], {}]]]     one answer per run

Segments are [start, end, index in `labels`, index in `texts`]. An answer is [kinds as bits, mean
tIoU, accuracy, segments, pairs, more]; pairs are [true, predicted, tIoU] with -1 for no partner;
`more` holds `faults`, `reply` and `reply_characters` of an unparsed reply, `error` of a failed
row, `cut` where the reply reached its token limit, and `judged`: [judge, segment, state, five
scores or null, overall or null, comment, why]. Index -1 stands for nothing. Texts and labels stand
once each, so reasons that repeat cost nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from affect.emotion_colors import emotion_color
from affect.judge_dimensions import JUDGE_DIMENSIONS, MAX_SCORE, short_name
from affect.printable import printable
from affect.timeline import Segment
from evaluation.judge.judgements import SegmentJudgement
from evaluation.metrics import PROTOCOLS, Clip, SegmentPair
from evaluation.metrics.ratios import GOOD_TIOU
from evaluation.report.clip_video import ClipVideo, EmbeddedVideo
from evaluation.report.outcome import KINDS, is_bad_boundary, outcome_of
from evaluation.run_results import RunResults

MAX_TEXT_CHARACTERS = 20_000
"""So much of one reason or reply stands in the page, which says that it is cut."""

NOTHING = -1

_KIND_BITS = {kind: 1 << place for place, (kind, _, _) in enumerate(KINDS)}


class Numbering:
    """Values, each once, and their places."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str | None) -> int:
        """Where a text stands, printable; NOTHING for None and blank ones."""
        if text is None or not text.strip():
            return NOTHING
        return self._places.setdefault(printable(shortened(text)), len(self._places))

    @property
    def values(self) -> list[str]:
        return list(self._places)


def shortened(text: str) -> str:
    """The text, or its begin and how long it is."""
    if len(text) <= MAX_TEXT_CHARACTERS:
        return text
    return f"{text[:MAX_TEXT_CHARACTERS]}\n… cut here: {len(text):,} characters in all"


def examples_of(
    runs: Sequence[RunResults],
    videos: Sequence[ClipVideo],
    embedded: Mapping[int, EmbeddedVideo],
) -> dict[str, Any]:
    """The examples of runs that answer the same rows.

    videos: one per row. embedded: by place, the clips whose bytes are in the page.
    """
    return _Examples(runs).document(videos, embedded)


class _Examples:
    def __init__(self, runs: Sequence[RunResults]) -> None:
        self.runs = runs
        self.labels, self.tags, self.texts = Numbering(), Numbering(), Numbering()
        self.judges = sorted({label for run in runs for label in run.judges})
        self.judgements = [_by_clip(run, self.judges) for run in runs]

    def document(
        self, videos: Sequence[ClipVideo], embedded: Mapping[int, EmbeddedVideo]
    ) -> dict[str, Any]:
        clips = [self._clip(index, videos[index]) for index in range(len(videos))]
        return {
            "runs": [printable(run.label) for run in self.runs],
            "judges": [printable(label) for label in self.judges],
            "dimensions": [short_name(name) for name in JUDGE_DIMENSIONS],
            "dimension_names": [name.replace("_", " ") for name in JUDGE_DIMENSIONS],
            "max_score": MAX_SCORE,
            "good_tiou": GOOD_TIOU,
            "kinds": [list(kind) for kind in KINDS],
            "labels": self.labels.values,
            "colors": [emotion_color(label) for label in self.labels.values],
            "tags": self.tags.values,
            "texts": self.texts.values,
            "embedded": {str(place): one.mime_type for place, one in sorted(embedded.items())},
            "clips": clips,
        }

    def _clip(self, index: int, video: ClipVideo) -> list[Any]:
        truth = self.runs[0].truths[index]
        return [
            printable(truth.id),
            video.url,
            self.texts.place(video.problem),
            _rounded(truth.timeline.duration_seconds),
            self.tags.place(truth.genre),
            self.tags.place(truth.scene),
            self.tags.place(truth.row.source),
            self._segments(truth.timeline.segments),
            [self._answer(number, run.clips[index]) for number, run in enumerate(self.runs)],
        ]

    def _answer(self, run: int, clip: Clip) -> list[Any]:
        score = PROTOCOLS["strict"].score_clip(clip)
        outcome = outcome_of(score)
        scored = score.status == "scored"
        return [
            sum(_KIND_BITS[kind] for kind in outcome.kinds),
            _rounded(outcome.mean_tiou),
            _rounded(outcome.emotion_accuracy),
            self._segments(() if clip.reply is None else clip.reply.segments),
            [
                [
                    NOTHING if pair.truth_index is None else pair.truth_index,
                    NOTHING if pair.predicted_index is None else pair.predicted_index,
                    _rounded_tiou(pair),
                ]
                for pair in score.pairs
                if scored
            ],
            self._more(run, clip, scored),
        ]

    def _more(self, run: int, clip: Clip, scored: bool) -> dict[str, Any]:
        more: dict[str, Any] = {}
        answer = self.runs[run].predictions.replies.get(clip.id)
        if clip.reply is not None and not scored:
            more["faults"] = [self.texts.place(fault) for fault in clip.reply.faults]
            more["reply"] = self.texts.place(clip.reply.text)
            more["reply_characters"] = len(clip.reply.text)
        if answer is not None and answer.error is not None:
            more["error"] = self.texts.place(answer.error)
        if answer is not None and answer.finished is False:
            more["cut"] = True
        judged = self.judgements[run].get(clip.id)
        if judged:
            more["judged"] = [self._judgement(judge, one) for judge, one in judged]
        return more

    def _judgement(self, judge: int, one: SegmentJudgement) -> list[Any]:
        return [
            judge,
            NOTHING if one.segment is None else one.segment,
            one.state,
            one.scores and [_rounded(one.scores[name]) for name in JUDGE_DIMENSIONS],
            _rounded(one.overall),
            self.texts.place(one.comment),
            self.texts.place(one.why),
        ]

    def _segments(self, segments: Sequence[Segment]) -> list[list[Any]]:
        return [
            [
                _rounded(one.start_seconds),
                _rounded(one.end_seconds),
                self.labels.place(one.emotion),
                self.texts.place(one.reason),
            ]
            for one in segments
        ]


def _by_clip(
    run: RunResults, judges: Sequence[str]
) -> dict[str, list[tuple[int, SegmentJudgement]]]:
    found: dict[str, list[tuple[int, SegmentJudgement]]] = {}
    for place, label in enumerate(judges):
        if label in run.judges:
            for one in run.judges[label].judgements.segments:
                found.setdefault(one.id, []).append((place, one))
    return found


def _rounded_tiou(pair: SegmentPair) -> float:
    """To a thousandth, but never up to .5: the page tells good boundaries from bad ones by it."""
    rounded = round(pair.tiou, 3)
    return min(rounded, GOOD_TIOU - 0.001) if is_bad_boundary(pair) else rounded


def _rounded(value: float | None) -> float | None:
    """To a millisecond, or a thousandth."""
    return None if value is None else round(value, 3)
