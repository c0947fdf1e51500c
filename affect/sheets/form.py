"""What raters are asked about each segment, and what the columns of their tables are.

FORM = Form(
    name="validation", title="Validation", task="Watch each video whole first.",
    questions={"label": "Is this emotion what a viewer feels during this segment?"},
    scale={1: "not at all", 2: "hardly", 3: "partly", 4: "mostly", 5: "fully"},
)
FORM.columns[-2:]        # ("label", "comment")
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

_BEFORE = ("expert", "item", "video")
_PLACE = ("segment", "start_seconds", "end_seconds", "emotion", "reason")
COMMENT = "comment"


@dataclass(frozen=True)
class Form:
    """One kind of sheet.

    name: of the kind; browsers keep its answers apart from other kinds'. title: the page's.
    task: what raters are told before they begin. questions: column -> question. scale: rating, 0
    to 9 so that one key gives it -> what it means, ascending. has_answers: whether there may be
    several answers to one video, each a row of segments. hints: column -> more about a question.
    """

    name: str
    title: str
    task: str
    questions: Mapping[str, str]
    scale: Mapping[int, str]
    has_answers: bool = False
    hints: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        assert list(self.scale) == sorted(self.scale) and set(self.scale) <= set(range(10))
        assert len(set(self.columns)) == len(self.columns), self.columns

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns of the table, in order."""
        answer = ("answer",) if self.has_answers else ()
        return (*_BEFORE, *answer, *_PLACE, *self.questions, COMMENT)

    @property
    def ratings(self) -> tuple[int, ...]:
        """All that can be given, ascending."""
        return tuple(self.scale)
