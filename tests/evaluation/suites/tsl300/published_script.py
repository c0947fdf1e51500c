"""The published protocol, one candidate after the other: slow, obvious, and in the order given.

Example: `ap, precision, recall = published(truth, listed, 0.1)` for one polarity; `listed` holds
(video, start, end) from the highest score down, equal scores in whatever order one wants to try.
"""

from collections.abc import Mapping, Sequence

Span = tuple[float, float]
Listed = tuple[str, float, float]


def tiou(a: Span, b: Span) -> float:
    overlap = max(0.0, min(a[1], b[1]) - max(a[0], b[0]))
    covered = (a[1] - a[0]) + (b[1] - b[0]) - overlap
    return overlap / covered if covered > 0 else 0.0


def published(
    truth: Mapping[str, Sequence[Span]], listed: Sequence[Listed], threshold: float
) -> tuple[float, float, float]:
    """(interpolated AP, mean of the precision so far, mean of the recall so far)."""
    num_truth = sum(len(spans) for spans in truth.values())
    taken: set[tuple[str, int]] = set()
    hits = 0
    precisions: list[float] = []
    recalls: list[float] = []
    for place, (video, start, end) in enumerate(listed, 1):
        spans = truth.get(video, ())
        by_overlap = sorted(range(len(spans)), key=lambda j: -tiou((start, end), spans[j]))
        for j in by_overlap:
            if tiou((start, end), spans[j]) < threshold - 1e-9:
                break
            if (video, j) not in taken:
                taken.add((video, j))
                hits += 1
                break
        precisions.append(hits / place)
        recalls.append(hits / num_truth)
    area, before = 0.0, 0.0
    for place, recall in enumerate(recalls):
        area += (recall - before) * max(precisions[place:])
        before = recall
    return area, sum(precisions) / len(precisions), sum(recalls) / len(recalls)
