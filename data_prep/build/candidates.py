"""The emotions among which the reasoner chooses, for every video, from the label files configured.

candidates_of, warnings = read_candidates(config.videos.labels)
candidates_of("videos/00000.mp4")
-> Candidates(emotions=("Admiration", "Adoration", "Awe (or Wonder)"))
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from data_prep.records import Candidates

_NUM_SHOWN_MISMATCHES = 3


def read_candidates(
    labels: Sequence[Path],
) -> tuple[Callable[[str], Candidates], tuple[str, ...]]:
    """A video's id -> its candidates, and what people should know of the files.

    Raises ValueError for a file that can't be read as labels.
    """
    if not labels:
        return (lambda video_id: Candidates()), ()
    from data_prep.vce import candidates_for, read_vce_labels

    known = read_vce_labels(labels)
    shown = known.mismatches[:_NUM_SHOWN_MISMATCHES]
    num_more = len(known.mismatches) - len(shown)
    more = (f"and {num_more} more labels whose topK is not theirs",) if num_more else ()
    return (lambda video_id: candidates_for(known, video_id)), (*shown, *more)
