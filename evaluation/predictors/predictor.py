"""What every predictor offers: answers to rows, in pieces, as they come.

    for answers in predictor.answer(rows):      # {"a": Answer("..."), "b": Answer(None, error=...)}
        output.write(answers)

A predictor is asked once, for all rows that still need an answer, so that an engine or a server can
be kept busy across them. What it yields is written at once: stopping loses no more than what was in
work.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from affect.records import Row
from evaluation.predictions import Answer


class Predictor(Protocol):
    """Who answers rows."""

    def answer(self, rows: Sequence[Row]) -> Iterator[Mapping[str, Answer]]:
        """Yield each row's answer once, by id, in pieces of one or more and in any order.

        A row whose clip can't be used, or that a server would not answer, is an `Answer` with an
        error. What is wrong with the model, the server's address or the machine raises: it is no
        row's fault. Closing the iterator ends what is in work.
        """
        ...
