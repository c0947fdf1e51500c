"""The grammar: order decides two pairs of emotions, and neither colour nor motion decides alone."""

from collections import defaultdict

import pytest

from affect.taxonomy import DAR_EMOTIONS
from data_prep.rendered.grammar import (
    EMOTIONS,
    FOLLOWING_WEIGHTS,
    OPENING_WEIGHTS,
    PALETTES,
    SCENES,
    emotion_of,
    scene_weights,
)


@pytest.mark.parametrize(
    ("scene", "before", "emotion"),
    [
        ("blue drift", None, "Calmness"),
        ("blue drift", "Joy", "Calmness"),
        ("blue drift", "Fear", "Relief"),
        ("blue drift", "Anger", "Relief"),
        ("warm burst", None, "Surprise"),
        ("warm burst", "Boredom", "Surprise"),
        ("warm burst", "Interest", "Satisfaction"),
        ("warm burst", "Confusion", "Satisfaction"),
        ("dark grow", "Calmness", "Fear"),
        ("grey grow", "Calmness", "Interest"),
    ],
)
def test_the_emotion_follows_from_the_scene_and_the_one_before(scene, before, emotion):
    assert emotion_of(SCENES[scene], before) == emotion


def test_the_world_has_eleven_of_the_27_emotions():
    assert len(EMOTIONS) == 11
    assert set(EMOTIONS) <= set(DAR_EMOTIONS)


def test_every_palette_is_shared_by_two_emotions_at_least():
    emotions_of_palette = defaultdict(set)
    for scene in SCENES.values():
        emotions_of_palette[scene.palette].update(scene.emotions)
    assert set(emotions_of_palette) == set(PALETTES)
    assert min(len(emotions) for emotions in emotions_of_palette.values()) >= 2


def test_two_motions_mean_different_things_on_different_palettes():
    emotions_of_motion = defaultdict(set)
    for scene in SCENES.values():
        emotions_of_motion[scene.motion].update(scene.emotions)
    assert emotions_of_motion["shake"] == {"Anger", "Confusion"}
    assert emotions_of_motion["grow"] == {"Fear", "Interest"}


def test_every_shape_is_drawn_for_two_scenes_at_least():
    shapes = [shape for scene in SCENES.values() for shape in scene.shapes]
    assert {shape: shapes.count(shape) >= 2 for shape in shapes} == dict.fromkeys(shapes, True)


def test_the_weights_name_scenes_and_emotions_that_exist():
    assert set(OPENING_WEIGHTS) == set(SCENES)
    assert set(FOLLOWING_WEIGHTS) == set(EMOTIONS)
    assert {name for weights in FOLLOWING_WEIGHTS.values() for name in weights} <= set(SCENES)


def test_no_scene_follows_that_would_repeat_the_picture_or_the_emotion():
    for last in SCENES.values():
        for before in last.emotions:
            names = scene_weights(last, before)
            assert last.name not in names
            assert all(emotion_of(SCENES[name], before) != before for name in names)
            assert len(names) == 8
