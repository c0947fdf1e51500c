"""Protocol `paper`: section 5.1 of the paper, read as it is written.

Each segment of the truth is compared with the predicted segment that overlaps it best (highest
tIoU, the earlier at a tie); one predicted segment may serve several. An emotion is correct where
the labels are equal and tIoU >= .5. Every segment of the truth counts, also where the clip has no
usable reply, which the text does not speak of. Segments are taken as the lenient parse finds them:
fences, gaps and overlaps are forgiven, nothing is moved.

Example: truth [0-4 Joy][4-8 Fear], reply [0-8 Joy]: tIoU .5 and .5, labels right and wrong;
mIoU .5, Emo-Acc 1/2, SC-Acc 0.
"""

from affect.matching import best_by_iou
from evaluation.metrics.clips import Clip, ClipScore, failed_clip, pair_of


def score_clip(clip: Clip) -> ClipScore:
    """One clip under `paper`; every clip is counted."""
    if clip.reply is None or not clip.reply.segments:
        return failed_clip(clip, counted=True)
    predicted, truth = clip.reply.segments, clip.truth.segments
    pairs = [
        pair_of(j, truth[j], i, predicted) for j, i in enumerate(best_by_iou(truth, predicted))
    ]
    return ClipScore(
        id=clip.id,
        status="scored",
        counted=True,
        num_truth=len(truth),
        num_predicted=len(predicted),
        valid_json=clip.reply.fits_schema,
        valid_timeline=clip.reply.timeline is not None,
        pairs=tuple(pairs),
        predicted=predicted,
    )
