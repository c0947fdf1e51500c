"""The protocol's metrics over some of the clips: by length, by number of segments, by tags.

    duration       from 0, 5, 10, 15, 20 or 30 s up to, but not with, the next; the last is open
    num_segments   of the truth: 1 to 5, and 6 or more
    genre, scene   as the rows say; "(untagged)" where they do not. Beyond the `MAX_TAGS` most
                   frequent ones the rest stand together as "(other)"

Groups without a clip are left out; those of one breakdown add up to all clips.

Example: `groupings(truths)[0]` is ("duration", {"5-10 s": [True, False, ...], ...}).
"""

from collections import Counter
from collections.abc import Callable, Sequence

from evaluation.analysis.document import Breakdown, Group, Share
from evaluation.analysis.labels import short_text
from evaluation.clips import Truth
from evaluation.metrics import ClipScore

DURATION_EDGES_SECONDS = (0, 5, 10, 15, 20, 30)
MOST_SEGMENTS = 6
MAX_TAGS = 30
UNTAGGED = "(untagged)"
OTHER_TAGS = "(other)"

Groups = dict[str, list[bool]]
"""Name of a group -> whether each clip is in it."""


def groupings(truths: Sequence[Truth]) -> list[tuple[str, Groups]]:
    """What clips are grouped by, and the groups in the order of the tables."""
    genres = _tags([truth.genre for truth in truths])
    scenes = _tags([truth.scene for truth in truths])
    return [
        ("duration", _groups([_duration(truth) for truth in truths], _DURATION_NAMES.index)),
        ("num_segments", _groups([_num_segments(truth) for truth in truths], lambda name: name)),
        ("genre", _groups(genres, _tag_order)),
        ("scene", _groups(scenes, _tag_order)),
    ]


def _duration_name(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} s or more"
    return f"{low}-{high} s" if low else f"under {high} s"


_DURATION_NAMES = [
    _duration_name(low, high)
    for low, high in zip(DURATION_EDGES_SECONDS, (*DURATION_EDGES_SECONDS[1:], None), strict=True)
]


def _duration(truth: Truth) -> str:
    seconds = truth.timeline.duration_seconds
    return _DURATION_NAMES[sum(seconds >= edge for edge in DURATION_EDGES_SECONDS) - 1]


def _num_segments(truth: Truth) -> str:
    number = len(truth.timeline.segments)
    return f"{MOST_SEGMENTS} or more" if number >= MOST_SEGMENTS else str(number)


def _tags(tags: Sequence[str | None]) -> list[str]:
    named = [UNTAGGED if tag is None else short_text(tag) for tag in tags]
    counts = Counter(named)
    kept = sorted(counts, key=lambda tag: (-counts[tag], tag))[:MAX_TAGS]
    return [tag if tag in kept else OTHER_TAGS for tag in named]


def _tag_order(tag: str) -> tuple[bool, str]:
    return tag in (UNTAGGED, OTHER_TAGS), tag


def _groups(names: Sequence[str], order: Callable[[str], object]) -> Groups:
    # `order` gives values of one type, which sorted() can compare but a type can't say.
    found = sorted(set(names), key=order)  # type: ignore[arg-type]
    return {name: [one == name for one in names] for name in found}


def breakdown(
    by: str,
    groups: Groups,
    scores: Sequence[ClipScore],
    metrics: Sequence[str],
    shares: Sequence[Sequence[Share]],
) -> Breakdown:
    """shares: for each group, in order, those of the protocol's metrics."""
    return Breakdown(
        by=by,
        groups=tuple(
            _group(name, [s for s, inside in zip(scores, members, strict=True) if inside], of_group)
            for (name, members), of_group in zip(
                groups.items(),
                [dict(zip(metrics, of_group, strict=True)) for of_group in shares],
                strict=True,
            )
        ),
    )


def _group(name: str, scores: Sequence[ClipScore], metrics: dict[str, Share]) -> Group:
    statuses = [score.status for score in scores]
    return Group(
        name=name,
        num_clips=len(scores),
        num_scored=statuses.count("scored"),
        num_unparsed=statuses.count("unparsed"),
        num_missing=statuses.count("missing"),
        metrics=metrics,
    )
