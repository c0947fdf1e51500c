"""One table of any number of systems under the protocols, in percent, with counts and intervals.

Example:
    table = score_table({"SFT": sft_rows, "GRPO": grpo_rows}, differences)
    Console().print(table)
gives a line per protocol and metric such as
    strict   mIoU per segment   57.0 [52.1, 61.8]   61.3 [56.9, 65.7]   +4.3 [+0.9, +7.8]   98.9
and, under each protocol, how many clips were scored, unparsed and missing. Shown are the headline
metrics unless others are named.
"""

from collections.abc import Collection, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from evaluation.metrics import PROTOCOLS, DifferenceRow, ScoreRow

METRIC_TITLES = {
    "sc_acc": "SC-Acc",
    "miou_segment": "mIoU per segment",
    "miou_video": "mIoU per video",
    "emo_acc": "Emo-Acc",
    "valid_json": "valid JSON",
    "valid_timeline": "valid timeline",
}
RELEASED_EMO_ACC = "Emo-Acc at any IoU"
UNDEFINED = "-"
PAPER_METRICS = ("sc_acc", "miou_segment", "emo_acc")
"""The three that the paper's tables have."""

ALL_METRICS = tuple(dict.fromkeys(name for one in PROTOCOLS.values() for name in one.metrics))
HEADLINE_METRICS = tuple(METRIC_TITLES)
"""Shown by default: of each protocol its counts, overlaps and one accuracy. `ALL_METRICS` add the
accuracies at four thresholds with two denominators each."""

_THRESHOLDS = {
    "emo_acc_at_": "Emo-Acc at tIoU {}, of all places",
    "emo_acc_given_iou_": "Emo-Acc of places with tIoU {}",
}


def metric_title(protocol: str, metric: str) -> str:
    """How a metric is called in tables; what `released` calls emotion accuracy asks no overlap."""
    if protocol == "released" and metric == "emo_acc":
        return RELEASED_EMO_ACC
    if metric in METRIC_TITLES:
        return METRIC_TITLES[metric]
    for prefix, title in _THRESHOLDS.items():
        if metric.startswith(prefix):
            return title.format(metric.removeprefix(prefix).removeprefix("0"))
    return metric


def percent(mean: float | None, low: float | None, high: float | None, sign: str = "") -> str:
    """`57.0 [52.1, 61.8]` from fractions; `sign="+"` writes the sign of differences."""
    if mean is None:
        return UNDEFINED
    text = f"{100 * mean:{sign}z.1f}"
    if low is None or high is None:
        return text
    return f"{text} [{100 * low:{sign}z.1f}, {100 * high:{sign}z.1f}]"


def points(mean: float | None, low: float | None, high: float | None) -> str:
    """`3.41 [3.20, 3.62]`, of a scale such as the judges' 0 to 5."""
    if mean is None:
        return UNDEFINED
    if low is None or high is None:
        return f"{mean:.2f}"
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"


def _counts(row: ScoreRow) -> str:
    return f"{row.num_scored} / {row.num_unparsed} / {row.num_missing}"


def _caption(protocols: Sequence[str], compared: bool) -> str:
    failures: dict[str, list[str]] = {}
    for protocol in protocols:
        failures.setdefault(PROTOCOLS[protocol].failures, []).append(protocol)
    entering = "; ".join(f"{how} in {', '.join(names)}" for how, names in failures.items())
    lines = [
        f"Percent, 95 % intervals from a bootstrap over clips. Unparsed and missing: {entering}.",
        "A mean of exactly 0 or 100 has an interval without width, which is no certainty.",
    ]
    if compared:
        lines.append(
            "Differences in points, over the same clips in the same draws; > 0: percent of the "
            "draws in which the difference is above 0."
        )
    return " ".join(lines)


def choose_metrics(names: Collection[str] | None, *, all_metrics: bool = False) -> tuple[str, ...]:
    """The metrics to show: those named, else all or the headline ones.

    Raises ValueError for a name that no protocol has.
    """
    unknown = [name for name in names or () if name not in ALL_METRICS]
    if unknown:
        raise ValueError(f"no metric called {unknown[0]!r}; there are {', '.join(ALL_METRICS)}")
    if names:
        return tuple(name for name in ALL_METRICS if name in names)
    return ALL_METRICS if all_metrics else HEADLINE_METRICS


def score_table(
    scores: Mapping[str, Sequence[ScoreRow]],
    differences: Sequence[DifferenceRow] = (),
    *,
    metrics: Collection[str] = HEADLINE_METRICS,
) -> Table:
    """Lines are protocols x metrics, columns the systems and then the differences.

    Raises ValueError when the systems were not scored under the same protocols and metrics, or
    not with any of `metrics`.
    """
    lines: dict[tuple[str, str], dict[str, ScoreRow]] = {}
    for name, rows in scores.items():
        for row in rows:
            if row.metric in metrics:
                lines.setdefault((row.protocol, row.metric), {})[name] = row
    if not lines:
        raise ValueError(f"there are no scores of {', '.join(metrics)}")
    for (protocol, metric), by_name in lines.items():
        absent = [name for name in scores if name not in by_name]
        if absent:
            raise ValueError(f"{absent[0]} has no row for {metric} under {protocol}")
    by_pair: dict[tuple[str, str], dict[tuple[str, str], DifferenceRow]] = {}
    for difference in differences:
        pair = (difference.other, difference.base)
        by_pair.setdefault(pair, {})[(difference.protocol, difference.metric)] = difference

    protocols = list(dict.fromkeys(protocol for protocol, _ in lines))
    table = Table(caption=_caption(protocols, bool(by_pair)), caption_justify="left")
    table.add_column("protocol")
    table.add_column("metric")
    for name in scores:
        table.add_column(Text(name), justify="right")
    for other, base in by_pair:
        table.add_column(Text(f"{other} minus {base}"), justify="right")
        table.add_column("> 0", justify="right")
    for protocol in protocols:
        shown = [metric for named, metric in lines if named == protocol]
        for position, metric in enumerate(shown):
            cells = [
                percent(row.mean, row.low, row.high)
                for row in (lines[protocol, metric][name] for name in scores)
            ]
            for by_metric in by_pair.values():
                cells += _change_cells(by_metric.get((protocol, metric)))
            table.add_row("" if position else protocol, metric_title(protocol, metric), *cells)
        first = lines[protocol, shown[0]]
        table.add_row(
            "",
            "clips scored / unparsed / missing",
            *(_counts(first[name]) for name in scores),
            *("" for _ in by_pair for _ in range(2)),
            end_section=True,
        )
    return table


def _change_cells(change: DifferenceRow | None) -> tuple[str, str]:
    if change is None:
        return UNDEFINED, UNDEFINED
    return (
        percent(change.difference, change.low, change.high, "+"),
        percent(change.share_above_zero, None, None),
    )
