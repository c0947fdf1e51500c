"""The loop over rows: ask for the rows that have no answer yet, write each answer at once.

Who answers is a parameter: a function from a batch of rows to one `Answer` each. The loop knows
nothing of models, so a local checkpoint, a server or a scripted stand-in run through it alike.

Example:
    with PredictionWriter(path, header) as output:
        outcome = answer_rows(rows, output, local_model.answer_batch, batch_size=4)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tqdm import tqdm

from affect.records import Row
from evaluation.prediction_writer import PredictionWriter
from evaluation.predictions import Answer

AnswerBatch = Callable[[Sequence[Row]], Sequence[Answer]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Rows kept from before, answered now, and failed now."""

    num_kept: int
    num_answered: int
    num_failed: int


def answer_rows(
    rows: Sequence[Row],
    output: PredictionWriter,
    answer_batch: AnswerBatch,
    *,
    batch_size: int,
    show_progress: bool = True,
) -> Outcome:
    """Answer what `output` has no answer for, in the order of the rows.

    Each batch is on the disk before the next is asked, so stopping anywhere loses at most the
    batch in work. Raises ValueError where the file holds answers to rows that are not in `rows`.
    """
    if batch_size < 1:
        raise ValueError(f"the batch size must be 1 or more, not {batch_size}")
    strangers = sorted(output.answered - {row.id for row in rows})
    if strangers:
        raise ValueError(f"{output.path}: answers {strangers[0]!r}, which is not among the rows")
    todo = [row for row in rows if row.id not in output.answered]
    num_kept = len(rows) - len(todo)
    num_answered = num_failed = 0
    with tqdm(
        total=len(rows), initial=num_kept, desc="predict", unit="clip", disable=not show_progress
    ) as progress:
        for first in range(0, len(todo), batch_size):
            batch = todo[first : first + batch_size]
            answers = answer_batch(batch)
            assert len(answers) == len(batch), (len(answers), len(batch))
            output.write({row.id: answer for row, answer in zip(batch, answers, strict=True)})
            failed_now = sum(answer.error is not None for answer in answers)
            num_failed += failed_now
            num_answered += len(batch) - failed_now
            progress.update(len(batch))
            progress.set_postfix(failed=num_failed, refresh=False)
    return Outcome(num_kept, num_answered, num_failed)
