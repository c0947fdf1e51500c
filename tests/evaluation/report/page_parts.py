"""A section's HTML taken apart: its tables as texts, its plots, its links.

parts = read_html(section.html)
parts.tables["headline"][0]       # ['run', 'SC-Acc', ...]
"""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"img", "br", "hr", "input", "meta", "link"}


@dataclass
class Parts:
    """tables: by id without `table-`, rows of texts. tags: each with its attributes. text: all that
    is read, a space between elements. unclosed: elements without an end."""

    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""
    unclosed: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts = Parts()
        self.table: list[list[str]] | None = None
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            name = (dict(attrs)["id"] or "").removeprefix("table-")
            assert name not in self.parts.tables
            self.table = self.parts.tables.setdefault(name, [])
        elif tag == "tr" and self.table is not None:
            self.table.append([])
        elif tag in ("td", "th") and self.table is not None:
            self.table[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "table":
            self.table = None

    def handle_data(self, data: str) -> None:
        self.parts.text += f" {data}"
        if self.table and self.open[-1] in ("td", "th", "small", "code"):
            self.table[-1][-1] += data


def read_html(html: str) -> Parts:
    """Fails where an element ends that is not the open one."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.parts.unclosed = reader.open
    return reader.parts
