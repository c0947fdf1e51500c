"""A plot as SVG that stands in an HTML page, and as PNG for what shows pictures only.

    inline_svg(plot)     # '<svg class="plot" role="img" aria-label="..." viewBox="...">...</svg>'
    png_of(plot)         # b'\\x89PNG...', dark on white

The page's SVG has no background and takes its colours from the page's variables, so one file reads
in light and in dark; its text is text, in the page's font; marks carry tips (`<title>`).
Equal plots give equal bytes.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING

from affect.figures import figure_bytes, plain_style, settle
from affect.printable import printable
from evaluation.report import palette
from evaluation.report.contents import Plot, Tips

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = {
    "svg.fonttype": "none",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "text.parse_math": False,  # a label with a dollar is a label
    "text.color": palette.TEXT.color,
    "axes.labelcolor": palette.DIM.color,
    "axes.titlecolor": palette.TEXT.color,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": palette.LINE.color,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "xtick.color": palette.LINE.color,
    "ytick.color": palette.LINE.color,
    "xtick.labelcolor": palette.DIM.color,
    "ytick.labelcolor": palette.TEXT.color,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8.5,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "grid.color": palette.LINE.color,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "savefig.dpi": 160,
    # Numbers at the ends of neighbouring axes keep apart.
    "figure.constrained_layout.wspace": 0.06,
    "figure.constrained_layout.w_pad": 0.08,
}
_VARIABLES = palette.variables()


def inline_svg(plot: Plot) -> str:
    """HTML: the figure as one <svg>, ids prefixed with the plot's."""
    with drawn(plot) as (figure, tips):
        text = figure_bytes(figure, "svg").decode("utf-8")
    found = re.search(r"<svg\b[^>]*viewBox=\"([^\"]+)\"[^>]*>(.*)</svg>", text, re.DOTALL)
    assert found is not None
    view_box, body = found.groups()
    # Its rule would hold for the whole page; sections.css has it for plots.
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, count=1, flags=re.DOTALL)
    # Tags alone are rewritten: a label may look like anything.
    parts = re.split(r"(<[^>]*>)", body)
    body = "".join(
        _tag(part, plot.id, tips) if part.startswith("<") else part if part.strip() else ""
        for part in parts
    )
    return (
        f'<svg class="plot" role="img" aria-label="{escape(printable(plot.alt))}" '
        f'viewBox="{view_box}" style="--width:{round(plot.width * 96)}px">{body}</svg>'
    )


def png_of(plot: Plot) -> bytes:
    """The figure on white, 160 pixels per inch."""
    with drawn(plot) as (figure, _):
        figure.set_facecolor("white")
        return figure_bytes(figure, "png")


@contextmanager
def drawn(plot: Plot) -> Iterator[tuple["Figure", Tips]]:
    """The figure in its layout, and the tips of its marks; the style holds within."""
    with plain_style(_STYLE):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(plot.width, plot.height), layout="constrained")
        tips = Tips()
        plot.draw(figure, tips)
        settle(figure)
        yield figure, tips


def _tag(tag: str, prefix: str, tips: Tips) -> str:
    """A tag of matplotlib's: ids of groups go, a tip's mark gets its text, others get the prefix,
    colours become variables, and hundredths of a point are enough."""
    group = re.fullmatch(r'<g id="([^"]*)"(.*)>', tag, re.DOTALL)
    if group:
        text = tips.texts.get(group.group(1))
        title = "" if text is None else f"<title>{escape(text)}</title>"
        tag = f"<g{group.group(2)}>{title}"
        return tag
    tag = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{prefix}-", tag)
    tag = tag.replace("xlink:href", "href").replace("\n", "")
    tag = re.sub(r" ?font-family: [^;\"]+;?", "", tag)
    tag = re.sub(r"#[0-9a-f]{6}\b(?=[;\"])", _variable, tag)
    tag = tag.replace("; ", ";").replace(": ", ":")
    return re.sub(r"(?<=\d\.\d\d)\d+", "", tag)


def _variable(match: re.Match[str]) -> str:
    color = match.group()
    variable = _VARIABLES.get(color)
    return color if variable is None else f"var({variable},{color})"
