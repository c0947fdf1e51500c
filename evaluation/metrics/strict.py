"""Protocol `strict`, the headline: one-to-one pairs, nothing repaired, no failure left out.

Read is only a reply that is one strict timeline. Its segments are paired with the truth's one to
one, in order, so that the sum of tIoU is highest. A segment of either side that finds no partner
stands in the denominator with 0, so a clip weighs max(#predicted, #truth) places. A reply that is
not a strict timeline, and a clip without a reply, count with a 0 for each truth segment.

Example: truth [0-4 Joy][4-8 Fear], reply [0-8 Joy]: places tIoU .5 (Joy = Joy) and 0; mIoU .25,
Emo-Acc 1/2. The same truth and the reply [0-1 Fear][1-4 Joy][4-8 Fear]: .75, 1 and 0 for the extra
segment; mIoU .583, Emo-Acc 2/3.
"""

from affect.matching import match_one_to_one
from evaluation.metrics.clips import Clip, ClipScore, SegmentPair, failed_clip, pair_of


def score_clip(clip: Clip) -> ClipScore:
    """One clip under `strict`; every clip is counted."""
    timeline = None if clip.reply is None else clip.reply.timeline
    if timeline is None:
        return failed_clip(clip, counted=True)
    predicted, truth = timeline.segments, clip.truth.segments
    partner_of_truth = {j: i for i, j in match_one_to_one(predicted, truth)}
    places = [
        pair_of(j, wanted, partner_of_truth.get(j), predicted) for j, wanted in enumerate(truth)
    ]
    unpaired_predicted = sorted(set(range(len(predicted))) - set(partner_of_truth.values()))
    # Where segments of both sides stay alone, an extra one shares the place of a true one that has
    # no partner: the clip weighs max(#predicted, #truth), as in the hardened rewards.
    num_places = max(len(predicted), len(truth))
    for i in unpaired_predicted[: num_places - len(places)]:
        places.append(SegmentPair(None, i, None, predicted[i].emotion, 0.0))
    return ClipScore(
        id=clip.id,
        status="scored",
        counted=True,
        num_truth=len(truth),
        num_predicted=len(predicted),
        valid_json=True,
        valid_timeline=True,
        pairs=tuple(places),
        predicted=predicted,
    )
