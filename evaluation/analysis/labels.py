"""The labels of an analysis: DAR's 27, then what else replies said, of which only so much is kept.

    labels = LabelSet.of(["Joy", "Happy", "Happy", "Mirth"])
    labels.names[27:]                       # ('Happy', 'Mirth')
    labels.index("Happy")                   # 27

A reply can invent as many labels as it likes; a matrix over them all would have no bound. So the
`MAX_OTHER_LABELS` most frequent ones outside the 27 stand for themselves and the rest together.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from affect.taxonomy import DAR_EMOTIONS
from evaluation.analysis.document import NOTHING

MAX_OTHER_LABELS = 20
MAX_LABEL_CHARACTERS = 40
OTHER_LABELS = "(other labels)"
BLANK_LABEL = "(blank)"

_EMOTIONS = frozenset(DAR_EMOTIONS)


@dataclass(frozen=True, slots=True)
class LabelSet:
    """names: the 27 in their order, kept others sorted, `OTHER_LABELS` where some were not kept."""

    names: tuple[str, ...]
    _places: Mapping[str, int]

    @classmethod
    def of(cls, written: Iterable[str]) -> Self:
        """The labels of all predicted segments, as they were written."""
        counts = Counter(shown_label(label) for label in written if label not in _EMOTIONS)
        by_frequency = sorted(counts, key=lambda label: (-counts[label], label))
        kept = set(by_frequency[:MAX_OTHER_LABELS]) - {OTHER_LABELS}
        names = [*DAR_EMOTIONS, *sorted(kept)]
        if set(counts) - kept:
            names.append(OTHER_LABELS)
        return cls(tuple(names), {name: place for place, name in enumerate(names)})

    def index(self, written: str) -> int:
        """Its place among the names; that of `OTHER_LABELS` where it was not kept."""
        place = self._places.get(written if written in _EMOTIONS else shown_label(written))
        return self._places[OTHER_LABELS] if place is None else place


def shown_label(written: str) -> str:
    """A label outside the 27 as it is shown: short, valid text, and never one of our own marks."""
    text = short_text(written)
    if not text:
        return BLANK_LABEL
    # " Joy " is no label of the 27, and not to be mistaken for one.
    reserved = text in _EMOTIONS or text in (NOTHING, OTHER_LABELS, BLANK_LABEL)
    return OTHER_LABELS if reserved else text


def short_text(written: str) -> str:
    """At most `MAX_LABEL_CHARACTERS`, all of them printable, without outer white space.

    What can't be printed (half characters, line ends, a terminal's control codes) becomes U+FFFD.
    """
    text = "".join(one if one.isprintable() else "\ufffd" for one in written.strip())
    if len(text) <= MAX_LABEL_CHARACTERS:
        return text
    return text[: MAX_LABEL_CHARACTERS - 1] + "…"
