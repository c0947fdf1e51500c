"""Reasons: short, few words, each names its emotion, and no two are alike."""

import re
from itertools import combinations

import pytest

from affect.taxonomy import speaks_of
from data_prep.rendered.grammar import EMOTIONS, SCENES
from data_prep.rendered.reasons import NUM_WORDINGS, WORDINGS, write_reason

ALL_REASONS = [
    (scene.palette, emotion, write_reason(emotion, shape, wording))
    for scene in SCENES.values()
    for emotion in scene.emotions
    for shape in scene.shapes
    for wording in range(NUM_WORDINGS)
]
COLOR_WORD = {"warm": "orange", "blue": "blue", "dark": "red", "grey": "white"}


def words(text):
    return re.findall(r"[a-z]+", text.lower())


def test_every_emotion_has_all_its_wordings():
    assert {emotion: len(wordings) for emotion, wordings in WORDINGS.items()} == dict.fromkeys(
        EMOTIONS, NUM_WORDINGS
    )


@pytest.mark.parametrize(("palette", "emotion", "reason"), ALL_REASONS)
def test_a_reason_has_12_to_22_words_and_speaks_of_its_emotion_and_its_colour(
    palette, emotion, reason
):
    assert 12 <= len(words(reason)) <= 22
    assert speaks_of(reason, emotion)
    assert emotion.lower() in words(reason)
    assert COLOR_WORD[palette] in words(reason)


def test_a_reason_names_no_other_emotion_of_the_world():
    labels = {emotion.lower() for emotion in EMOTIONS}
    for _, emotion, reason in ALL_REASONS:
        assert labels & set(words(reason)) == {emotion.lower()}


def test_reasons_of_one_clip_are_far_from_copies_of_each_other():
    # Far under the .75 at which the paper's reward calls a reason a duplicate, for any two that
    # one clip can hold: another emotion, or another wording of the same.
    texts = {write_reason(e, "disc", w) for e in EMOTIONS for w in range(NUM_WORDINGS)}
    assert len(texts) == 33
    for one, other in combinations(sorted(texts), 2):
        first, second = set(words(one)), set(words(other))
        assert len(first & second) / len(first | second) < 0.5


def test_the_vocabulary_is_small():
    assert len({word for _, _, reason in ALL_REASONS for word in words(reason)}) < 180


def test_a_wording_or_an_emotion_that_is_not_there_is_refused():
    with pytest.raises(IndexError):
        write_reason("Joy", "disc", NUM_WORDINGS)
    with pytest.raises(KeyError):
        write_reason("Horror", "disc", 0)
