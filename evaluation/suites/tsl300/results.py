"""What scoring on TSL-300 leaves: `tsl300/NAME.json` of a run.

    results = read_tsl_results(RunFolder(Path("runs/demo/grpo")).tsl300("tsl"))
    results.row("map", 0.1).mean            # fraction from 0 to 1
    results.row("published_f2", None)       # mean over the five thresholds

Metrics whose names begin with `mean_running_` or `published_` are those of the published script,
which cannot be compared with ordinary recall, precision and F2; both stand here.
"""

import json
from pathlib import Path
from typing import Literal

from affect.atomic import write_text_atomic
from affect.frozen import Frozen

TIOU_THRESHOLDS = (0.10, 0.15, 0.20, 0.25, 0.30)
"""Of the published protocol; AVG is the mean over these five."""

PUBLISHED_METRICS = (
    "map", "map_best_tie_order", "ap_positive", "ap_negative",
    "mean_running_recall", "mean_running_precision", "published_f2",
)  # fmt: skip
ORDINARY_METRICS = ("recall", "precision", "f2")
METRICS = (*PUBLISHED_METRICS, *ORDINARY_METRICS)


class TslScoreRow(Frozen):
    """One metric (of METRICS) at one tIoU; None as `tiou` is the mean over TIOU_THRESHOLDS.

    mean, low, high: fractions, with a 95 % interval from a bootstrap over videos; None where
    nothing defines them.
    """

    metric: str
    tiou: float | None
    mean: float | None
    low: float | None
    high: float | None


class TslCounts(Frozen):
    """What the scores stand on.

    num_videos: of the subset; scored, unparsed and missing add up to it. num_truth_*: annotated
    segments. num_predicted_*: stretches that entered. num_background: predicted segments that an
    emotion of neither polarity left out. num_unknown_emotion: those whose label is none of the 27
    (lenient reading only), left out too.
    """

    num_videos: int
    num_scored: int
    num_unparsed: int
    num_missing: int
    num_truth_positive: int
    num_truth_negative: int
    num_predicted_positive: int
    num_predicted_negative: int
    num_background: int = 0
    num_unknown_emotion: int = 0


class TslReading(Frozen):
    """How replies became stretches; None where a file in TSL-300's own form was scored.

    reading: strict timelines only, or the lenient parse. open_emotions: the policy's name, or the
    YAML file's. polarity: emotion -> positive, negative, both or background, as it was applied.
    merged: whether neighbours of one polarity were joined.
    """

    reading: Literal["strict", "lenient"]
    open_emotions: str
    polarity: dict[str, Literal["positive", "negative", "both", "background"]]
    merged: bool


class TslResults(Frozen):
    """predictions_sha256, labels_sha256: of the content of the two files that were compared.

    subset: `test`, unless the user chose otherwise. tie_rule: in words. num_replicates, seed: of
    the bootstrap. rows: every metric at every threshold and averaged.
    """

    predictions_sha256: str
    labels_sha256: str
    subset: Literal["train", "test"]
    reading: TslReading | None
    tie_rule: str
    num_replicates: int
    seed: int
    counts: TslCounts
    rows: tuple[TslScoreRow, ...]

    def row(self, metric: str, tiou: float | None) -> TslScoreRow:
        """Raises KeyError for a metric or threshold that there is not."""
        for one in self.rows:
            if one.metric == metric and one.tiou == tiou:
                return one
        raise KeyError((metric, tiou))


def write_tsl_results(path: Path, results: TslResults) -> None:
    """Write one JSON object, whole or not at all."""
    text = json.dumps(results.model_dump(mode="json"), indent=2, allow_nan=False)
    write_text_atomic(path, text + "\n")


def read_tsl_results(path: Path) -> TslResults:
    """Raises ValueError naming the file for what is no such object."""
    try:
        return TslResults.from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not scores on TSL-300: {error}") from error
