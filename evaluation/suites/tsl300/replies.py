"""From a model's timelines of emotions to stretches of one polarity.

    [0-4 Joy][4-9 Amusement][9-12 Interest][12-20 Fear]
    -> positive 0-9, negative 12-20; 9-12 is background

Neighbours of one polarity are joined, because TSL-300 marks a stretch of one sentiment once, while
an emotional timeline divides it wherever the emotion changes; `merge=False` keeps them apart. An
emotion that the policy takes for both polarities enters under each. A language model gives no
scores: all are 1.0, so the tie rule of `evaluation.suites.tsl300.curves` decides.

Example: `candidates_of(timeline.segments, polarities(open_policy()), merge=True)`
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from affect.file_hash import sha256_of_file
from affect.parsing import parse_reply
from affect.records import read_rows
from affect.timeline import BOUNDARY_TOLERANCE_SECONDS, Segment
from evaluation.predictions import PredictionFile
from evaluation.suites.tsl300.candidates import Candidate, Candidates
from evaluation.suites.tsl300.labels import POLARITIES, Polarity

Reading = Literal["strict", "lenient"]


def candidates_of(
    segments: Sequence[Segment], sides: Mapping[str, frozenset[Polarity]], *, merge: bool
) -> list[Candidate]:
    """The stretches of one reply's segments, by polarity and then in the segments' order.

    sides: emotion -> polarities, as `polarities` gives it; a label it lacks is background.
    """
    found: list[Candidate] = []
    nothing: frozenset[Polarity] = frozenset()
    for polarity in POLARITIES:
        stretches: list[tuple[float, float]] = []
        for segment in segments:
            if polarity not in sides.get(segment.emotion, nothing):
                continue
            start, end = segment.start_seconds, segment.end_seconds
            if merge and stretches and _meet(stretches[-1], (start, end)):
                stretches[-1] = (stretches[-1][0], end)
            else:
                stretches.append((start, end))
        found.extend(Candidate(polarity, start, end) for start, end in stretches)
    return found


def _meet(before: tuple[float, float], after: tuple[float, float]) -> bool:
    """Neighbours with a common boundary, each with a length: others are not joined over a gap."""
    return (
        before[1] > before[0]
        and after[1] > after[0]
        and abs(after[0] - before[1]) <= BOUNDARY_TOLERANCE_SECONDS + 1e-6
    )


def candidates_of_predictions(
    predictions: PredictionFile,
    rows_path: Path,
    sides: Mapping[str, frozenset[Polarity]],
    *,
    reading: Reading = "strict",
    merge: bool = True,
) -> Candidates:
    """Read every reply against the duration that its row states.

    strict: a reply that is no timeline is unparsed. lenient: one without any segment is.
    Raises ValueError naming file and line for a reply whose id has no row.
    """
    expected = predictions.header.rows_sha256
    if expected is not None and expected != sha256_of_file(rows_path):
        raise ValueError(
            f"{rows_path}: is not the file of rows that {predictions.path} answers: its content "
            "differs; name the right one with --rows FILE"
        )
    durations = {row.id: row.duration_seconds for row in read_rows(rows_path)}
    found: dict[str, list[Candidate]] = {}
    unparsed: set[str] = set()
    num_background = num_unknown = 0
    for video_id, answer in predictions.replies.items():
        if video_id not in durations:
            line = predictions.line_numbers[video_id]
            raise ValueError(f"{predictions.path}:{line}: id {video_id!r} is not in {rows_path}")
        if answer.text is None:
            continue
        reply = parse_reply(answer.text, durations[video_id], answer.num_tokens)
        if reply.timeline is None and (reading == "strict" or not reply.segments):
            unparsed.add(video_id)
            continue
        found[video_id] = candidates_of(reply.segments, sides, merge=merge)
        for segment in reply.segments:
            num_unknown += segment.emotion not in sides
            num_background += segment.emotion in sides and not sides[segment.emotion]
    return Candidates(
        predictions.path,
        sha256_of_file(predictions.path),
        found,
        frozenset(unparsed),
        num_background,
        num_unknown,
    )
