"""The loop over rows: ask for the rows that have no answer yet, write each answer at once.

Who answers is a parameter, a `Predictor`. The loop knows nothing of models, so a local checkpoint,
an engine, a server or a scripted stand-in run through it alike.

Example:
    with PredictionWriter(path, header) as output:
        outcome = answer_rows(rows, output, local_model.answer)
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from tqdm import tqdm

from affect.records import Row
from evaluation.prediction_writer import PredictionWriter
from evaluation.predictions import Answer

AnswerRows = Callable[[Sequence[Row]], Iterator[Mapping[str, Answer]]]
"""`Predictor.answer`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Rows kept from before, answered now, and failed now."""

    num_kept: int
    num_answered: int
    num_failed: int


def answer_rows(
    rows: Sequence[Row],
    output: PredictionWriter,
    answer: AnswerRows,
    *,
    show_progress: bool = True,
    notes: Callable[[], Mapping[str, str]] = dict,
) -> Outcome:
    """Answer what `output` has no answer for. notes: more to show beside the progress, by name.

    What comes is on the disk before more is waited for, so stopping anywhere loses at most what is
    in work. Raises ValueError where the file holds answers to rows that are not in `rows`.
    """
    strangers = sorted(output.answered - {row.id for row in rows})
    if strangers:
        raise ValueError(f"{output.path}: answers {strangers[0]!r}, which is not among the rows")
    remaining = [row for row in rows if row.id not in output.answered]
    num_kept = len(rows) - len(remaining)
    num_answered = num_failed = 0
    waiting = {row.id for row in remaining}
    with (
        tqdm(
            total=len(rows),
            initial=num_kept,
            desc="predict",
            unit="clip",
            disable=not show_progress,
        ) as progress,
        closing(_as_generator(answer(remaining))) as pieces,
    ):
        for answers in pieces:
            assert answers.keys() <= waiting, answers.keys() - waiting
            waiting -= answers.keys()
            output.write(answers)
            failed_now = sum(answer.error is not None for answer in answers.values())
            num_failed += failed_now
            num_answered += len(answers) - failed_now
            progress.update(len(answers))
            progress.set_postfix({"failed": num_failed, **notes()}, refresh=False)
    assert not waiting, f"{len(waiting)} rows got no answer"
    return Outcome(num_kept, num_answered, num_failed)


def _as_generator(
    pieces: Iterator[Mapping[str, Answer]],
) -> Generator[Mapping[str, Answer]]:
    """Something to close, whatever kind of iterator it is: a predictor's generator then tidies up
    at once, and not when the garbage collector finds it."""
    try:
        yield from pieces
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            close()
