r"""Text from files and folders as text in Markdown: names, paths and settings never act as markup.

plain("a|b <img>")          a\|b &lt;img&gt;
code("x`y")                 ``x`y``
block("a: 1", "yaml")       a fenced block, its fence longer than any run of backticks inside
"""

import html
import re
from collections.abc import Sequence

# What only begins a list is left: no text of a file is put at the start of a line.
_SPECIAL = re.compile(r"([\\`*_\[\]|~#!:@])")
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


def one_line(text: str) -> str:
    """Without line breaks, control characters and changes of direction."""
    return _UNPRINTED.sub(" ", text).strip()


def plain(text: str) -> str:
    """As running text, in a table's cell too."""
    return _SPECIAL.sub(r"\\\1", html.escape(one_line(text), quote=False))


def code(text: str) -> str:
    """As a code span, in a table's cell too."""
    content = one_line(text)
    fence = "`" * (_longest_run(content) + 1)
    padding = " " if content.startswith("`") or content.endswith("`") or not content else ""
    # A table is split at bars before spans are seen, and takes the backslash away again.
    return f"{fence}{padding}{content}{padding}{fence}".replace("|", "\\|")


def block(text: str, language: str = "") -> str:
    """As a fenced block."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are markup already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
