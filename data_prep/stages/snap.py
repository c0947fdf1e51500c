"""Snap: proposed boundaries move to the visual cuts and fades beside them.

    boundaries 2.8 and 6.1, cuts at 3.0 and 9.4  ->  3.0 (snapped), 6.1 (kept)

Section 3.3 of the paper: a boundary within .5 s of a cut moves to it, since a model's times drift
and a cut's do not. What the paper leaves open is decided here, so that no event is lost unseen:

- Of all pairs of a boundary and a cut within the window, the nearest is joined first (equally near:
  the earlier boundary, then the earlier cut); then the next among what is free, and so on, never so
  that boundaries change their order. So two never share a cut: the farther one takes the next free
  cut in its window or stays where it was.
- A cut so near an end of the clip that no segment fits in between draws nothing.
- Where a span has come out too short (exactly, or in one decimal), one of its boundaries is given
  up: rather one without a cut, then the one that moved farther, then the later. The events on both
  sides become one, their texts joined, and the boundary is logged as `merged`.
"""

from collections.abc import Sequence
from itertools import pairwise

from data_prep.build.config import SnapSection
from data_prep.records import Cut, Looked, Proposed, Snap, Snapped, Span
from data_prep.stages.lengths import FLOAT_NOISE_SECONDS, is_long_enough
from data_prep.stages.stage import stage


@stage()
async def snap(looked: Looked, proposed: Proposed, settings: SnapSection) -> Snapped:
    """One `Snap` for each inner boundary, in order; spans cover the clip as before."""
    duration_seconds = looked.duration_seconds
    boundaries = [span.start_seconds for span in proposed.spans[1:]]
    targets = snap_targets(looked.cuts, duration_seconds)
    cuts = assign_cuts(boundaries, targets, settings.window_seconds)
    moved = [
        boundary if cut is None else cut.time_seconds
        for boundary, cut in zip(boundaries, cuts, strict=True)
    ]
    kept = _boundaries_to_keep(boundaries, moved, cuts, duration_seconds)
    events = [proposed.spans[0].event]
    snaps = []
    for number, before in enumerate(boundaries):
        event = proposed.spans[number + 1].event
        if number in kept:
            events.append(event)
            outcome = "kept" if cuts[number] is None else "snapped"
        else:
            events[-1] = joined_events(events[-1], event)
            outcome = "merged"
        snaps.append(
            Snap.model_validate(
                {
                    "before_seconds": before,
                    "after_seconds": moved[number] if number in kept else None,
                    "cut": cuts[number],
                    "outcome": outcome,
                }
            )
        )
    times = [0.0, *(moved[number] for number in kept), duration_seconds]
    spans = tuple(
        Span(start_seconds=start, end_seconds=end, event=event)
        for (start, end), event in zip(pairwise(times), events, strict=True)
    )
    return Snapped(spans=spans, snaps=tuple(snaps))


def snap_targets(cuts: Sequence[Cut], duration_seconds: float) -> tuple[Cut, ...]:
    """The cuts on which a boundary can lie, in order; of two at one time, the cut, not the fade."""
    targets: list[Cut] = []
    for cut in sorted(cuts, key=lambda cut: (cut.time_seconds, cut.kind)):
        time = cut.time_seconds
        fits = is_long_enough(0.0, time) and is_long_enough(time, duration_seconds)
        if fits and not (targets and time - targets[-1].time_seconds <= FLOAT_NOISE_SECONDS):
            targets.append(cut)
    return tuple(targets)


def assign_cuts(
    boundaries_seconds: Sequence[float], targets: Sequence[Cut], window_seconds: float
) -> list[Cut | None]:
    """For each boundary the cut that it moves to; both in ascending order, no cut given twice."""
    pairs = sorted(
        (round(abs(target.time_seconds - boundary), 6), number, place)  # ties are ties
        for number, boundary in enumerate(boundaries_seconds)
        for place, target in enumerate(targets)
        if abs(target.time_seconds - boundary) <= window_seconds + FLOAT_NOISE_SECONDS
    )
    given: dict[int, int] = {}
    for _, number, place in pairs:
        is_free = number not in given and place not in given.values()
        # A later boundary must keep a later cut; two on one side agree in both comparisons.
        in_order = all((other < number) == (taken < place) for other, taken in given.items())
        if is_free and in_order:
            given[number] = place
    assigned = [
        targets[given[number]] if number in given else None
        for number in range(len(boundaries_seconds))
    ]
    after = [
        boundary if cut is None else cut.time_seconds
        for boundary, cut in zip(boundaries_seconds, assigned, strict=True)
    ]
    # Whatever a boundary passed on its way to a cut was nearer to that cut and came first.
    assert all(left < right for left, right in pairwise(after)), (boundaries_seconds, after)
    return assigned


def joined_events(before: str, after: str) -> str:
    """The texts of two events that became one; all words of both."""
    return " Then: ".join(text for text in (before, after) if text)


def _boundaries_to_keep(
    before: Sequence[float],
    moved: Sequence[float],
    cuts: Sequence[Cut | None],
    duration_seconds: float,
) -> list[int]:
    """The boundaries, by number, that are left when no span is too short any more."""
    assert is_long_enough(0.0, duration_seconds), duration_seconds  # `propose` sees to it
    kept = list(range(len(moved)))

    def first_to_go(number: int) -> tuple[bool, float, int]:
        return cuts[number] is None, abs(moved[number] - before[number]), number

    while True:
        times = [0.0, *(moved[number] for number in kept), duration_seconds]
        for place, (start, end) in enumerate(pairwise(times)):
            if not is_long_enough(start, end):
                kept.remove(max(kept[max(place - 1, 0) : place + 1], key=first_to_go))
                break
        else:
            return kept
