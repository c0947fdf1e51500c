"""Scores on TSL-300 as a table: a line per metric, a column per tIoU and AVG, counts below.

Example: `Console().print(results_table(results))`
"""

from rich.table import Table

from evaluation.suites.tsl300.results import METRICS, TIOU_THRESHOLDS, TslResults
from evaluation.tables import percent

METRIC_TITLES = {
    "map": "mAP",
    "map_best_tie_order": "mAP, ties in their best order",
    "ap_positive": "AP positive",
    "ap_negative": "AP negative",
    "mean_running_recall": 'mean running recall (published "recall")',
    "mean_running_precision": "mean running precision",
    "published_f2": "published F2, of these two",
    "recall": "recall",
    "precision": "precision",
    "f2": "F2",
}
_FIRST_ORDINARY = "recall"


def counts_text(results: TslResults) -> str:
    """What the scores stand on, in one line."""
    counts = results.counts
    text = (
        f"{counts.num_videos} videos: {counts.num_scored} scored, {counts.num_unparsed} unparsed, "
        f"{counts.num_missing} missing (these two with nothing found). Annotated: "
        f"{counts.num_truth_positive} positive, {counts.num_truth_negative} negative; predicted: "
        f"{counts.num_predicted_positive} and {counts.num_predicted_negative}."
    )
    if results.reading is not None:
        text += f" Background: {counts.num_background} segments"
        if counts.num_unknown_emotion:
            text += f", and {counts.num_unknown_emotion} whose label is none of the 27"
        text += "."
    return text


def reading_text(results: TslResults) -> str:
    """How replies were read, in one line."""
    if results.reading is None:
        return "Predictions in TSL-300's own form, with their own scores."
    reading = results.reading
    return (
        f"Replies read by the {reading.reading} parse; open emotions: {reading.open_emotions}; "
        f"neighbours of one polarity {'joined' if reading.merged else 'kept apart'}; all scores "
        "equal."
    )


def results_table(results: TslResults) -> Table:
    """In percent, with 95 % intervals."""
    caption = (
        f"Percent, 95 % intervals from a bootstrap over videos ({results.num_replicates} draws). "
        f"{counts_text(results)} {reading_text(results)} Ties: {results.tie_rule}."
    )
    table = Table(caption=caption, caption_justify="left")
    table.add_column("metric")
    for tiou in TIOU_THRESHOLDS:
        table.add_column(f"tIoU {tiou:.2f}".replace("0.", "."), justify="right")
    table.add_column("AVG", justify="right")
    for metric in METRICS:
        if metric == _FIRST_ORDINARY:
            table.add_section()
        rows = [results.row(metric, tiou) for tiou in (*TIOU_THRESHOLDS, None)]
        table.add_row(METRIC_TITLES[metric], *(percent(r.mean, r.low, r.high) for r in rows))
    return table
