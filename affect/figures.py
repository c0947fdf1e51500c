"""Figures of matplotlib whose files depend on what is drawn and on nothing else.

    with plain_style():
        figure = Figure(figsize=(6, 3), layout="constrained")
        ...
        files = {kind: figure_bytes(figure, kind) for kind in ("svg", "png")}

Equal drawings give equal bytes: no dates, a fixed salt for the ids inside an SVG, matplotlib's own
defaults whatever the user's are. matplotlib is imported when the first figure is drawn.
"""

import io
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE: Mapping[str, Any] = {
    "svg.hashsalt": "dynamic-affective-reasoning",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 110,
}

_NO_METADATA: Mapping[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "png": {"Software": None},
}


@contextmanager
def plain_style(more: Mapping[str, Any] | None = None) -> Iterator[None]:
    """matplotlib's own defaults with STYLE, and `more` on top; the user's come back afterwards.

    Raises ValueError with what to install where matplotlib is missing.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise ValueError(
            "drawing needs matplotlib; install it with: "
            "pip install 'dynamic-affective-reasoning[report]'"
        ) from error
    with matplotlib.rc_context(), warnings.catch_warnings():
        # Labels may be in any script, and the font knows few.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**STYLE, **(more or {})})
        yield


def settle(figure: "Figure") -> None:
    """Find the layout once, so that every file of the figure has it."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def figure_bytes(figure: "Figure", kind: Literal["svg", "png"]) -> bytes:
    """The file. Call it inside `plain_style`, and `settle` the figure first."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=_NO_METADATA[kind])
    return buffer.getvalue()
