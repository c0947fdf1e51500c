"""The emotions among which the reasoner chooses, for every video, from the label files configured.

candidates_of, warnings = read_candidates(config.videos.labels)
candidates_of("videos/00000.mp4")
-> Candidates(emotions=("Admiration", "Adoration", "Awe (or Wonder)"))
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from data_prep.build.journal import FileState
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


def tell_unlabelled(
    files: Iterable[FileState],
    candidates_of: Callable[[str], Candidates],
    say: Callable[[str], None],
) -> Iterator[FileState]:
    """The same files; after the last one, how many have no candidates is said.

    Raises ValueError then if none has any: the label files are about other videos.
    """
    missing: set[str] = set()
    is_any = False
    for file in files:
        if candidates_of(file.id).emotions:
            is_any = True
        else:
            missing.add(file.id)
        yield file
    if missing and not is_any:
        raise ValueError(
            f"videos.labels: no file under videos.root is labelled there, {min(missing)!r} for "
            "one; labels are found by `file`, else by the name without its ending"
        )
    if missing:
        say(
            f"videos.labels: {len(missing)} files are not labelled there and may get any of the "
            f"27 emotions, {min(missing)!r} for one"
        )
