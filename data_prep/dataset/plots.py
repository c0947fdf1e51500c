"""Figure 3 and appendix C drawn from a statistics document, as SVG and PNG.

    for name, files in draw_plots(document): files["svg"], files["png"]     # bytes
    -> durations, segments_by_duration, transitions, emotions, reason_words, terms, genres_scenes

Equal documents give equal bytes (affect/figures.py). matplotlib is imported when the first plot is
drawn.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from affect.figures import figure_bytes, plain_style, settle
from affect.taxonomy import DAR_EMOTIONS
from data_prep.dataset.paper import PAPER, Stated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Document = Mapping[str, Any]

_OURS, _THEIRS = "#3b6ea5", "#c46210"
_NUM_TERMS_SHOWN = 30


def draw_plots(document: Document) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yield (name, {"svg": bytes, "png": bytes}) for each plot. document: of `Gathered`."""
    from matplotlib.figure import Figure

    for name, (width, height, draw) in PLOTS.items():
        with plain_style():
            figure = Figure(figsize=(width, height), layout="constrained")
            draw(figure, document)
            settle(figure)
            yield name, {"svg": figure_bytes(figure, "svg"), "png": figure_bytes(figure, "png")}


def _durations(figure: "Figure", document: Document) -> None:
    videos, segments = figure.subplots(1, 2)
    _histogram(videos, document["video_seconds"], "video length in seconds", "videos")
    _mark(videos, PAPER.mean_video_seconds, document["video_seconds"]["mean"], "s")
    _histogram(segments, document["segment_seconds"], "segment length in seconds", "segments")
    _mark(segments, PAPER.mean_segment_seconds, document["segment_seconds"]["mean"], "s")


def _reason_words(figure: "Figure", document: Document) -> None:
    axes = figure.subplots()
    _histogram(axes, document["reason_words"], "words of a reason", "reasons")
    _mark(axes, PAPER.mean_reason_words, document["reason_words"]["mean"], "words")


def _histogram(axes: "Axes", distribution: Document, x: str, y: str) -> None:
    bins = distribution["bins"]
    axes.bar(
        [one["from"] for one in bins],
        [one["count"] for one in bins],
        width=distribution["bin_width"],
        align="edge",
        color=_OURS,
        edgecolor="white",
        linewidth=0.5,
    )
    axes.set_xlim(left=0)
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def _mark(axes: "Axes", stated: Stated, ours: float | None, unit: str) -> None:
    """Both means as vertical lines; ours only where it is defined."""
    if ours is not None:
        axes.axvline(ours, color="black", linewidth=1, label=f"mean {ours:.1f} {unit}")
    label = f"paper {stated.value:g} {unit}"
    axes.axvline(stated.value, color=_THEIRS, linewidth=1, linestyle="--", label=label)
    # Theirs may lie beyond all of ours, and is what one looks for.
    axes.set_xlim(right=max(axes.get_xlim()[1], 1.1 * stated.value))
    axes.legend(frameon=False)


def _segments_by_duration(figure: "Figure", document: Document) -> None:
    axes = figure.subplots()
    for one in document["segments_by_duration"]:
        middle = (one["from_seconds"] + one["to_seconds"]) / 2
        for count, num_videos in one["num_videos_by_num_segments"].items():
            area = 12 + 500 * num_videos / document["num_videos"]
            axes.scatter(middle, int(count), s=area, color=_OURS, alpha=0.5, linewidths=0)
    known = document["segments_by_duration"]
    axes.plot(
        [(one["from_seconds"] + one["to_seconds"]) / 2 for one in known],
        [one["mean_num_segments"] for one in known],
        color="black",
        linewidth=1,
        marker=".",
        label="mean",
    )
    axes.set_xlabel("video length in seconds (bins of 5; area: share of videos)")
    axes.set_ylabel("segments")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def _transitions(figure: "Figure", document: Document) -> None:
    axes = figure.subplots()
    shares = document["emotion_transitions"]["shares"]
    cells = [
        [float("nan") if value is None else value for value in shares[one].values()]
        for one in DAR_EMOTIONS
    ]
    image = axes.imshow(cells, cmap="Blues", vmin=0, vmax=1)
    axes.set_facecolor("#eeeeee")  # rows of emotions that nothing follows
    axes.set_xticks(range(len(DAR_EMOTIONS)), DAR_EMOTIONS, rotation=90, fontsize=7)
    axes.set_yticks(range(len(DAR_EMOTIONS)), DAR_EMOTIONS, fontsize=7)
    axes.set_xlabel("to")
    axes.set_ylabel("from")
    for row, values in enumerate(cells):
        for column, value in enumerate(values):
            if value >= 0.05:
                color = "white" if value > 0.5 else "black"
                text = f"{value:.2f}".lstrip("0")
                axes.text(column, row, text, ha="center", va="center", fontsize=5, color=color)
    figure.colorbar(image, ax=axes, shrink=0.6, label="share of changes away from an emotion")


def _emotions(figure: "Figure", document: Document) -> None:
    axes = figure.subplots()
    emotions = document["emotions"]
    ranked = [*emotions["ranked"], *(one for one in DAR_EMOTIONS if not emotions["counts"][one])]
    _bars(axes, ranked, [emotions["counts"][one] for one in ranked], "segments")


def _terms(figure: "Figure", document: Document) -> None:
    axes = figure.subplots()
    most = document["terms"]["most_frequent"][:_NUM_TERMS_SHOWN]
    colors = [_THEIRS if one["names_emotions"] else _OURS for one in most]
    _bars(
        axes,
        [one["term"] for one in most],
        [one["count"] for one in most],
        "occurrences (orange: names one of the 27 emotions)",
        colors,
    )


def _bars(
    axes: "Axes",
    names: Sequence[str],
    counts: Sequence[int],
    label: str,
    colors: Sequence[str] | str = _OURS,
) -> None:
    places = range(len(names))
    axes.barh(places, counts, color=colors)
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(label)


def _genres_scenes(figure: "Figure", document: Document) -> None:
    genres, scenes = figure.subplots(1, 2, width_ratios=(3, 1))
    for axes, stated, ours in (
        (genres, PAPER.genres, document["genres"]["shares"]),
        (scenes, PAPER.scenes, document["scenes"]["shares"]),
    ):
        names = list(stated)
        places = range(len(names))
        known = [at for at in places if ours[names[at]] is not None]
        heights = [ours[names[at]] for at in known]
        axes.bar([at - 0.2 for at in known], heights, 0.4, color=_OURS, label="ours")
        theirs = [stated[one].value for one in names]
        axes.bar([at + 0.2 for at in places], theirs, 0.4, color=_THEIRS, label="paper")
        axes.set_xticks(places, names, rotation=30, ha="right")
        axes.set_ylabel("share of tagged videos")
    total = document["genres"]["num"]
    genres.set_title("nothing was tagged here" if total == 0 else f"{total} tagged videos")
    genres.legend(frameon=False)


PLOTS: Mapping[str, tuple[float, float, Callable[["Figure", Document], None]]] = {
    "durations": (8, 3, _durations),
    "segments_by_duration": (6, 3.5, _segments_by_duration),
    "transitions": (8, 7, _transitions),
    "emotions": (6, 5, _emotions),
    "reason_words": (6, 3, _reason_words),
    "terms": (6, 5.5, _terms),
    "genres_scenes": (8, 3.5, _genres_scenes),
}
"""Name -> width and height in inches, and what draws it."""
