"""Each sign of filler alone: repetition, nothing of one's own, silence on the label."""

import pytest

from affect.taxonomy import DAR_AFFECT_CUES
from rewards.filler import is_filler, profile_reason, prompt_share
from rewards.words import split_words

REFERENCE = (
    "A dog leaps after the ball, misses it and slides into the snow, so the viewer laughs at its "
    "surprised face."
)


def filler(reason: str, emotion: str = "Amusement", reference: str = REFERENCE) -> bool:
    return is_filler(
        profile_reason(reason, split_words(reason), emotion),
        profile_reason(reference, split_words(reference), emotion),
    )


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (REFERENCE, False),
        ("A cat tips the vase over and looks away, which is funny.", False),
        ("the " * 120, True),
        ("", True),
        ("Amusement", True),
        ("The viewer feels amused because the scene makes the audience laugh.", True),
        ("This is the moment in which the video shows something that amuses us.", True),
        ("A cat tips the vase over and looks away.", True),  # silent on amusement
        ("The cat jumps and it is funny. " * 5, True),  # three-word sequences again and again
        # 12 words in 40 places, shuffled so that sequences differ: 12/40 = .3 distinct
        (
            "cat vase funny tips cat away vase tips looks funny away cat looks vase floor tips "
            "red funny floor cat red vase away table looks red cat table tips funny table vase "
            "lamp cat floor lamp red away lamp funny",
            True,
        ),
    ],
)
def test_filler(reason: str, expected: bool) -> None:
    assert filler(reason) is expected


def test_hyphenated_cues_are_heard_although_their_parts_are_single_words() -> None:
    hyphenated = [
        (stem, emotion)
        for emotion, stems in DAR_AFFECT_CUES.items()
        for stem in sorted(stems)
        if "-" in stem
    ]
    assert hyphenated
    for stem, emotion in hyphenated:
        assert profile_reason(stem, split_words(stem), emotion).speaks_of_label, stem


@pytest.mark.parametrize(
    "reference", ["the " * 30, "Amusement", "A cat tips the vase over.", "...", "The cat. " * 9]
)
def test_the_reference_is_never_filler(reference: str) -> None:
    assert filler(reference, reference=reference) is False


def test_a_poor_reference_lowers_only_what_it_lacks() -> None:
    silent = "A cat tips the vase over and looks away."
    assert filler("A dog digs holes near the fence.", reference=silent) is False
    assert filler("the " * 30, reference=silent) is True


def test_profile_of_a_reason() -> None:
    reason = "The dog, the dog laughs."
    profile = profile_reason(reason, split_words(reason), "Amusement")
    assert profile.num_words == 5
    assert profile.word_set == {"the", "dog", "laughs"}
    assert profile.distinct_share == 0.6
    assert profile.repeated_share == 0.0  # the-dog-the, dog-the-dog, the-dog-laughs
    assert profile.num_specific_words == 1  # dog; "the" is a function word, "laughs" the cue
    assert profile.speaks_of_label


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("one two three four", 1.0),
        ("zero one two three four", 0.5),  # 0123 no, 1234 yes
        ("four three two one", 0.0),
        ("one two three", 0.0),  # too short to have a sequence
        ("", 0.0),
    ],
)
def test_prompt_share(reason: str, expected: float) -> None:
    assert prompt_share(split_words(reason), "One, two, three, four, five!") == expected
    assert prompt_share(split_words(reason), "") == 0.0
