"""A strict reading of a page: balanced tags, known ones only, nothing from elsewhere.

texts = read_page(html)          # what a reader sees; AssertionError for what may not be there
"""

from html.parser import HTMLParser

_VOID = {"meta", "img"}
_TAGS = {
    "html", "head", "title", "style", "body", "h1", "h2", "p", "div", "section", "figure",
    "figcaption", "table", "thead", "tbody", "tr", "th", "td", "span", "svg", "rect", "text",
    "line", *_VOID,
}  # fmt: skip
_ATTRIBUTES = {
    "lang", "charset", "name", "content", "http-equiv", "class", "style", "alt", "src", "viewbox",
    "role", "aria-label", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "fill",
}  # fmt: skip


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.texts: list[str] = []
        self.num_images = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _TAGS, tag
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)) and set(names) <= _ATTRIBUTES, attrs
        for name, value in attrs:
            assert value is not None
            if name == "src":
                assert value.startswith("data:image/jpeg;base64,")
                self.num_images += 1
            if name == "style":
                assert value.startswith("background: #"), value
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def read_page(html: str) -> tuple[str, int]:
    """What a reader sees, in one text, and the number of pictures."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == [], reader.open
    assert "url(" not in html and "@import" not in html
    return "\n".join(reader.texts), reader.num_images
