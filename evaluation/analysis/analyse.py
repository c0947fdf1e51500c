"""One protocol's view of one file of predictions, behind the means.

    truths = read_truths("test.sft.jsonl")
    document = analyse(truths, load_clips(truths, read_predictions("test.jsonl")))
    document.emotions[18].recall.mean, document.boundaries.within["0.5"].mean

Everything is made of the protocol's own pairs (`SegmentPair`) and its own reading of the replies
(`ClipScore.predicted`); `strict` is the headline. All intervals come from the same draws of clips.
"""

from collections.abc import Sequence

from evaluation.analysis.boundaries import BoundaryCounts
from evaluation.analysis.breakdowns import breakdown, groupings
from evaluation.analysis.confusion import confusion_of
from evaluation.analysis.document import Analysis
from evaluation.analysis.emotions import EmotionCounts
from evaluation.analysis.labels import LabelSet
from evaluation.analysis.shares import ShareTable, masked
from evaluation.analysis.transitions import transitions_of
from evaluation.clips import Truth
from evaluation.metrics import Bootstrap, Clip, choose_protocols
from evaluation.metrics.summary import metric_parts


def analyse(
    truths: Sequence[Truth],
    clips: Sequence[Clip],
    protocol: str = "strict",
    bootstrap: Bootstrap | None = None,
) -> Analysis:
    """Analyse the clips of these truths, which are those of `load_clips`.

    Raises ValueError for an unknown protocol or when there is no clip.
    """
    if not clips:
        raise ValueError("there is no clip to analyse: the rows file is empty")
    assert [truth.id for truth in truths] == [clip.id for clip in clips]
    (chosen,) = choose_protocols([protocol])
    scores = [chosen.score_clip(clip) for clip in clips]
    statuses = [score.status for score in scores]
    labels = LabelSet.of(segment.emotion for score in scores for segment in score.predicted)

    table = ShareTable(len(clips))
    emotions = EmotionCounts(clips, scores, chosen.tiou_slack)
    emotion_handles = [table.add(*columns) for columns in emotions.columns()]
    boundaries = BoundaryCounts(clips, scores)
    boundary_handle = table.add(*boundaries.columns())
    above, below = metric_parts(scores, chosen)
    group_handles = [
        (by, groups, [table.add(masked(above, m), masked(below, m)) for m in groups.values()])
        for by, groups in groupings(truths)
    ]
    shares = table.shares(bootstrap or Bootstrap())

    return Analysis(
        protocol=chosen.name,
        num_scored=statuses.count("scored"),
        num_unparsed=statuses.count("unparsed"),
        num_missing=statuses.count("missing"),
        emotions=emotions.rows([shares[handle] for handle in emotion_handles]),
        confusion=confusion_of(scores, labels),
        transitions=transitions_of(clips, scores, labels),
        boundaries=boundaries.document(shares[boundary_handle]),
        breakdowns=tuple(
            breakdown(by, groups, scores, list(chosen.metrics), [shares[h] for h in handles])
            for by, groups, handles in group_handles
        ),
    )
