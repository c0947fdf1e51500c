"""The search finds what trying everything finds."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise, product

import pytest

from affect.timeline import Segment, segments_to_json
from rewards import RewardSet
from rewards.audit import SHIPPED_ROWS
from rewards.audit_clip import AuditClip, cover, read_clips, read_reply
from rewards.constant_reply import ConstantReply, _best_emotions, best_constant
from rewards.doubled_reply import best_doubled
from tests.rewards.builders import TRUTH, timeline

CLIPS = read_clips(SHIPPED_ROWS)
TWELVE = CLIPS[:12]


def mean_total(reply: ConstantReply, clips: Sequence[AuditClip], rewards: RewardSet) -> float:
    """The mean over clips of a written and parsed reply."""
    totals = []
    for clip in clips:
        text = segments_to_json(reply.segments(clip.duration_seconds))
        totals.append(rewards.score(read_reply(text, clip), clip.truth, clip.prompt_text).total)
    return sum(totals) / len(totals)


@pytest.mark.parametrize("preset", ["hardened", "paper"])
def test_no_pair_of_segments_on_a_grid_earns_more(preset: str) -> None:
    rewards = RewardSet.from_preset(preset)
    found = best_constant(TWELVE, rewards)
    emotions = sorted({s.emotion for clip in TWELVE for s in clip.truth.segments})
    tried = [
        ConstantReply(cuts, labels, found.reason_words)
        for cuts in [(), (0.25,), (0.4,), (0.5,), (0.6,), (0.75,)]
        for labels in product(emotions, repeat=len(cuts) + 1)
        if all(left != right for left, right in pairwise(labels))
    ]
    assert len(tried) > 300
    best = max(mean_total(reply, TWELVE, rewards) for reply in tried)
    assert mean_total(found, TWELVE, rewards) >= best - 1e-9


def test_one_clip_alone_is_known_by_heart() -> None:
    """With cuts on hundredths of the duration, 4 of 9 s is .44 or .45, written as 4.0."""
    clip = AuditClip("a", TRUTH, TRUTH.to_json(), "")
    found = best_constant([clip], RewardSet.from_preset("hardened"))
    assert found.emotions == ("Joy", "Fear")
    assert mean_total(found, [clip], RewardSet.from_preset("hardened")) == 1.0


def test_best_emotions_against_trying_all() -> None:
    gains = [
        defaultdict(float, {"Joy": 3.0, "Fear": 2.5, "Anger": 0.5}),
        defaultdict(float, {"Joy": 2.0, "Anger": 1.2}),
        defaultdict(float, {"Joy": 3.0, "Fear": 2.9}),
    ]
    labels = ("Joy", "Fear", "Anger")
    expected = max(
        (sum(gain[label] for gain, label in zip(gains, chosen, strict=True)), chosen)
        for chosen in product(labels, repeat=3)
        if all(left != right for left, right in pairwise(chosen))
    )
    assert _best_emotions(gains) == expected
    assert expected == (pytest.approx(7.4), ("Fear", "Joy", "Fear"))


def test_where_one_emotion_is_all_there_is_another_takes_the_second_place() -> None:
    gain, chosen = _best_emotions([defaultdict(float, {"Joy": 1.0}), defaultdict(float)])
    assert gain == 1.0
    assert chosen[0] == "Joy" != chosen[1]


def test_a_doubled_segment_is_paid_under_paper_only() -> None:
    """Of [0, 4] Joy, [4, 9] Fear, the later half twice: .05 + .25 + .25 * seg + .25 + .15."""
    clip = AuditClip("a", TRUTH, TRUTH.to_json(), "")
    paper, hardened = (RewardSet.from_preset(name) for name in ("paper", "hardened"))
    found = best_doubled([clip], paper)
    # .4 to 1 is [3.6, 9]: IoU 5/5.4 and .4 s off; .5 to 1 is [4.5, 9]: .9 and .5 s off.
    # .0 to .4 is [0, 3.6]: IoU .9 and .4 s off.
    assert (found.start, found.end, found.emotion, found.num_times) == (0.4, 1.0, "Fear", 2)
    text = segments_to_json(found.segments(9.0))
    assert paper.score(read_reply(text, clip), TRUTH).total > 0.85
    assert hardened.score(read_reply(text, clip), TRUTH).total == 0.0


def test_cover_cuts_at_fractions_in_one_decimal() -> None:
    segments = cover(9.04, [0.333, 0.5], ["Joy", "Fear", "Anger"], ["a", "b", "c"])
    assert segments == [
        Segment(0.0, 3.0, "Joy", "a"),
        Segment(3.0, 4.5, "Fear", "b"),
        Segment(4.5, 9.0, "Anger", "c"),
    ]


def test_cover_leaves_out_what_has_no_length_on_a_short_clip() -> None:
    assert cover(0.2, [0.1, 0.5, 0.9], ["Joy", "Fear", "Anger", "Awe"], ["a"] * 4) == [
        Segment(0.0, 0.1, "Joy", "a"),
        Segment(0.1, 0.2, "Fear", "a"),
    ]
    assert cover(0.04, [0.5], ["Joy", "Fear"], ["a", "b"]) == [Segment(0.0, 0.04, "Joy", "a")]


def test_clips_shorter_than_their_cuts_can_be_searched() -> None:
    truth = timeline((0.0, 0.1, "Joy", "glad of it"), (0.1, 0.2, "Fear", "afraid of it"))
    clip = AuditClip("a", truth, truth.to_json(), "")
    found = best_constant([clip], RewardSet.from_preset("hardened"))
    assert found.emotions[:2] == ("Joy", "Fear")
