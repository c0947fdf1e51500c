"""How the runs were trained: the curves of metrics.jsonl, smoothed over what was logged.

    training(runs)      # Content, None where no run has a metrics.jsonl

Runs that log a `reward` were trained with GRPO and are drawn apart from the others, whose loss says
something. Only what a run logged is drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluation.report import palette
from evaluation.report.contents import (
    Block,
    Cell,
    Column,
    Content,
    Folded,
    Heading,
    NumberTable,
    Paragraph,
    Plot,
    Tips,
)
from evaluation.report.shown import WIDTH_INCHES, add_legend, num_legend_lines
from evaluation.report.smoothing import Curve, curve_of, smoothed, window_steps
from evaluation.run_results import RunResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REWARD, LOSS = "reward", "loss"
_TERM_PREFIX, _TERM_SUFFIX = "rewards/", "/mean"
_TERM_TITLES = {
    "struct": "structure", "count": "segment count", "seg": "segments", "emo": "emotions",
    "reason": "reasons",
}  # fmt: skip
_NUM_PANELS_ABREAST = 3


@dataclass(frozen=True, slots=True)
class Shown:
    """key: of a line in metrics.jsonl. title: with its unit. scale: 100 for percent."""

    key: str
    title: str
    scale: float = 1.0


_POLICY = (
    Shown("kl", "KL to the reference"),
    Shown("entropy", "entropy, nats per token"),
    Shown("completions/mean_length", "reply length, tokens"),
    Shown("completions/clipped_ratio", "replies cut off, %", 100),
    Shown("completions/num_dropped", "replies dropped"),
    Shown("completions/num_truncated", "replies truncated"),
    Shown("frac_reward_zero_std", "groups without spread, %", 100),
    Shown("reward_std", "spread of the reward"),
    Shown("grad_norm", "gradient norm"),
    Shown("learning_rate", "learning rate"),
)
_SUPERVISED = (
    Shown(LOSS, "loss"),
    Shown("mean_token_accuracy", "token accuracy, %", 100),
    Shown("entropy", "entropy, nats per token"),
    Shown("grad_norm", "gradient norm"),
    Shown("learning_rate", "learning rate"),
)


def training(runs: Sequence[RunResults]) -> Content | None:
    lines = {run.label: [one for one in run.training if "train_runtime" not in one] for run in runs}
    if not any(lines.values()):
        return None
    places = {run.label: at for at, run in enumerate(runs)}
    rewarded = [label for label, of in lines.items() if any(REWARD in one for one in of)]
    supervised = [
        label
        for label, of in lines.items()
        if label not in rewarded and any(LOSS in one for one in of)
    ]
    untrained = [label for label in lines if label not in rewarded and label not in supervised]
    blocks: list[Block] = [
        Paragraph(
            "Thin: as logged. Thick: the mean of the logged values around each step (a tenth of "
            "the curve, fewer at its ends)."
        )
    ]
    if untrained:
        blocks.append(Paragraph(f"Without a training log: {', '.join(untrained)}."))
    if rewarded:
        of = {label: lines[label] for label in rewarded}
        blocks.append(Heading("Reward and its terms"))
        blocks += _figure("reward", "Reward and its terms by step.", _rewards(of), of, places)
        blocks.append(Heading("Policy"))
        blocks += _figure("policy", "How the policy behaves by step.", _POLICY, of, places)
    if supervised:
        of = {label: lines[label] for label in supervised}
        blocks.append(Heading("Supervised training"))
        blocks += _figure("supervised", "Supervised training by step.", _SUPERVISED, of, places)
    return Content("training", "Training", tuple(blocks))


Lines = Mapping[str, Sequence[Mapping[str, Any]]]


def _rewards(lines: Lines) -> tuple[Shown, ...]:
    """The reward, then its terms: those we know in their order, then others."""
    keys = sorted({key for of in lines.values() for one in of for key in one})
    terms = [
        key.removeprefix(_TERM_PREFIX).removesuffix(_TERM_SUFFIX)
        for key in keys
        if key.startswith(_TERM_PREFIX) and key.endswith(_TERM_SUFFIX)
    ]
    order = list(_TERM_TITLES)
    terms = [name for name in order if name in terms] + [
        name for name in terms if name not in order
    ]
    return (
        Shown(REWARD, "reward, weighted sum"),
        *(
            Shown(f"{_TERM_PREFIX}{name}{_TERM_SUFFIX}", f"term: {_TERM_TITLES.get(name, name)}")
            for name in terms
        ),
    )


def _figure(
    plot_id: str,
    caption: str,
    wanted: Sequence[Shown],
    lines: Lines,
    places: Mapping[str, int],
) -> list[Block]:
    curves: dict[str, dict[str, Curve]] = {}
    for shown in wanted:
        of = {label: curve_of(lines[label], shown.key, shown.scale) for label in lines}
        of = {label: curve for label, curve in of.items() if curve.steps}
        if of:
            curves[shown.key] = of
    known = [shown for shown in wanted if shown.key in curves]
    still = {shown.key: values for shown in known if len(values := _values(curves[shown.key])) == 1}
    panels = [shown for shown in known if shown.key not in still]
    blocks: list[Block] = []
    if still:
        told = (f"{shown.title} {still[shown.key][0]:g}" for shown in known if shown.key in still)
        blocks.append(Paragraph(f"The same in every step, so not drawn: {'; '.join(told)}."))
    if not panels:
        return blocks or [Paragraph("Nothing of it was logged.")]
    labels = list(lines)
    num_lines = -(-len(panels) // _NUM_PANELS_ABREAST)

    def draw(figure: "Figure", tips: Tips) -> None:
        add_legend(figure, labels, [places[label] for label in labels], lines=True)
        grid = figure.subplots(num_lines, min(len(panels), _NUM_PANELS_ABREAST), squeeze=False)
        every = list(grid.flat)
        for axes, shown in zip(every, panels, strict=False):
            axes.set_title(shown.title)
            axes.grid(axis="both")
            axes.tick_params(axis="y", labelcolor=palette.DIM.color, labelsize=8)
            axes.spines[["left", "bottom"]].set_visible(False)
            axes.locator_params(axis="x", nbins=5, integer=True)
            axes.locator_params(axis="y", nbins=5)
            for label, curve in curves[shown.key].items():
                color = palette.run_ink(places[label]).color
                last = smoothed(curve)[-1]
                tip = tips.on(f"{label}, {shown.title}: {last:.4g} at the end, smoothed")
                axes.plot(curve.steps, curve.values, color=color, linewidth=0.8, alpha=0.35)
                axes.plot(
                    curve.steps, smoothed(curve), color=color, linewidth=1.9, gid=tip,
                    marker="o" if len(curve.steps) == 1 else None, markersize=4,
                )  # fmt: skip
        for axes in every[len(panels) :]:
            axes.set_axis_off()
        for axes in every[max(0, len(panels) - _NUM_PANELS_ABREAST) : len(panels)]:
            axes.set_xlabel("step")

    legend = 0.3 * num_legend_lines(len(labels)) if len(labels) > 1 else 0.0
    return [
        *blocks,
        Plot(
            plot_id,
            caption,
            f"Curves of {', '.join(shown.title for shown in panels)} for {len(labels)} runs; first "
            "and last values stand in the table below.",
            WIDTH_INCHES,
            0.3 + 1.85 * num_lines + legend,
            draw,
        ),
        Folded("First and last values", (_table(plot_id, panels, curves),)),
    ]


def _values(curves: Mapping[str, Curve]) -> list[float]:
    """The different ones, over all runs."""
    return sorted({value for curve in curves.values() for value in curve.values})


def _table(
    table_id: str, panels: Sequence[Shown], curves: Mapping[str, Mapping[str, Curve]]
) -> NumberTable:
    rows: list[tuple[Cell, ...]] = []
    for shown in panels:
        for label, curve in curves[shown.key].items():
            means = smoothed(curve)
            rows.append(
                (
                    shown.title,
                    label,
                    len(curve.steps),
                    window_steps(curve),
                    means[0],
                    means[-1],
                    curve.steps[-1],
                    min(curve.values),
                    max(curve.values),
                )
            )
    return NumberTable(
        table_id,
        "Smoothed first and last values, and the lowest and highest that was logged.",
        (
            Column("what"),
            Column("run"),
            Column("values logged", "count"),
            Column("values in a mean", "count"),
            Column("first", "number"),
            Column("last", "number"),
            Column("at step", "count"),
            Column("lowest", "number"),
            Column("highest", "number"),
        ),
        rows,
    )
