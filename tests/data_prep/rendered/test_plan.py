"""Plans: a function of seed, split and index; the spread of labels, lengths and counts."""

import hashlib
from collections import Counter
from itertools import pairwise
from statistics import mean

import pytest

from data_prep.rendered.grammar import EMOTIONS, emotion_of
from data_prep.rendered.plan import MIN_SCENE_FRAMES, SPLITS, plan_clip
from data_prep.rendered.world import WORLD_VERSION

PLANS = [plan_clip(0, "train", index) for index in range(1500)]


def test_the_same_seed_gives_the_same_labels_as_ever():
    # Where this fails on purpose, raise WORLD_VERSION: folders made before hold other labels.
    text = "\n".join(
        plan_clip(0, split, n).timeline().to_json() for split in SPLITS for n in range(9)
    )
    assert (WORLD_VERSION, hashlib.sha256(text.encode()).hexdigest()[:16]) == (
        1,
        "a27748dd4ec9b109",
    )


def test_a_plan_is_the_same_whenever_it_is_asked_for():
    assert plan_clip(0, "train", 7) == PLANS[7]


def test_seeds_splits_and_indices_give_different_clips():
    plans = [plan_clip(seed, split, n) for seed in (0, 1) for split in SPLITS for n in range(100)]
    assert len({(plan.scenes, plan.brightness) for plan in plans}) == 600
    assert len({plan.noise_seed for plan in plans}) == 600


def test_times_stand_on_half_seconds_and_every_segment_lasts_a_second():
    for plan in PLANS:
        assert 4.0 <= plan.duration_seconds <= 8.0
        assert all(scene.num_frames >= MIN_SCENE_FRAMES == 10 for scene in plan.scenes)
        for segment in plan.timeline().segments:
            assert (2 * segment.start_seconds).is_integer()
            assert (2 * segment.end_seconds).is_integer()


def test_the_timeline_covers_the_clip_and_neighbours_differ():
    for plan in PLANS:
        segments = plan.timeline().segments  # a Timeline checks its own invariants
        assert segments[0].start_seconds == 0.0
        assert segments[-1].end_seconds == plan.duration_seconds == plan.num_frames / 10
        for left, right in pairwise(segments):
            assert left.end_seconds == right.start_seconds
            assert left.emotion != right.emotion


def test_each_emotion_is_what_the_grammar_says_of_its_scene():
    for plan in PLANS:
        before = None
        for scene in plan.scenes:
            assert scene.emotion == emotion_of(scene.scene, before)
            assert scene.shape in scene.scene.shapes
            before = scene.emotion


def test_no_two_reasons_of_a_clip_are_the_same():
    for plan in PLANS:
        assert len({scene.reason for scene in plan.scenes}) == len(plan.scenes)


def test_no_emotion_is_rare_and_none_is_common():
    counts = Counter(scene.emotion for plan in PLANS for scene in plan.scenes)
    shares = {emotion: counts[emotion] / counts.total() for emotion in EMOTIONS}
    assert max(shares.values()) < 0.13
    assert min(shares.values()) > 0.045


def test_every_scene_follows_many_others():
    following = Counter(
        (left.emotion, right.emotion) for plan in PLANS for left, right in pairwise(plan.scenes)
    )
    assert len(following) > 80
    assert max(following.values()) / following.total() < 0.1


def test_one_to_four_segments_as_often_as_stated():
    counts = Counter(len(plan.scenes) for plan in PLANS)
    expected = {1: 0.15, 2: 0.35, 3: 0.35, 4: 0.15}
    assert {number: counts[number] / len(PLANS) for number in counts} == pytest.approx(
        expected, abs=0.04
    )


def test_the_duration_says_nothing_about_the_number_of_segments():
    means = [
        mean(plan.duration_seconds for plan in PLANS if len(plan.scenes) == number)
        for number in (1, 2, 3, 4)
    ]
    assert means == pytest.approx([6.0] * 4, abs=0.25)


def test_soft_changes_and_distractors_occur_as_often_as_stated():
    changes = [scene.soft_start for plan in PLANS for scene in plan.scenes[1:]]
    assert mean(changes) == pytest.approx(0.35, abs=0.04)
    assert not any(plan.scenes[0].soft_start for plan in PLANS)
    assert mean(plan.distractor is not None for plan in PLANS) == pytest.approx(0.6, abs=0.04)


def test_ids_and_paths():
    plan = plan_clip(0, "dev", 12)
    assert (plan.id, plan.video) == ("dev/00012", "videos/dev/00012.mp4")


def test_an_unknown_split_and_a_negative_index_are_refused():
    with pytest.raises(ValueError, match="'valid' is not one of train, dev, test"):
        plan_clip(0, "valid", 0)
    with pytest.raises(ValueError, match="index -1 is negative"):
        plan_clip(0, "dev", -1)
