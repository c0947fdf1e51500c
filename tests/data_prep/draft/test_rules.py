"""The whole table from measures to emotions, literally."""

import pytest

from affect.taxonomy import DAR_EMOTIONS
from data_prep.draft.measures import Look
from data_prep.draft.rules import RULES, suggest, words_of


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (Look(0.0, 0.0, 0.0, 0.0, 0.0), "dark flat grey still"),
        (Look(0.249, 0.099, 0.079, -0.05, 0.0599), "dark flat grey slow"),
        (Look(0.25, 0.1, 0.08, -0.0501, 0.06), "cold fast"),
        (Look(0.55, 0.25, 0.25, 0.05, 0.01), "bright hard colourful warm slow"),
        (Look(1.0, 0.5, 1.0, 1.0, 1.0), "bright hard colourful warm fast"),
        (Look(1.0, 0.5, 1.0, -1.0, None), "bright hard colourful cold"),
        (Look(0.4, 0.2, 0.2, 0.0, None), ""),
    ],
)
def test_words_are_said_within_their_ranges(look: Look, words: str) -> None:
    assert words_of(look) == tuple(words.split())


@pytest.mark.parametrize(
    ("words", "emotion"),
    [
        ("dark cold fast", "Fear"),
        ("dark warm slow", "Nostalgia"),
        ("dark grey still", "Sadness"),
        ("dark cold slow", "Anxiety"),
        ("bright colourful fast", "Excitement"),
        ("hard grey fast", "Surprise"),
        ("bright colourful warm slow", "Joy"),
        ("flat grey slow", "Boredom"),
        ("colourful still", "Aesthetic Appreciation"),
        ("cold slow", "Calmness"),
        ("cold still", "Calmness"),
        ("bright slow", "Satisfaction"),
        ("fast", "Interest"),
        ("", "Interest"),
    ],
)
def test_the_first_rule_that_holds_decides(words: str, emotion: str) -> None:
    suggestion = suggest(words.split(), ())
    assert suggestion.emotion == emotion
    assert suggestion.rule is not None and suggestion.rule.emotion == emotion


def test_labels_limit_the_choice() -> None:
    assert suggest(["dark", "fast"], ("Joy", "Anxiety", "Fear")).emotion == "Fear"
    assert suggest(["dark", "fast"], ("Joy", "Anxiety")).emotion == "Anxiety"
    assert suggest(["dark", "fast"], ("Romance", "Interest")).emotion == "Interest"
    kept = suggest(["dark", "fast"], ("Romance", "Joy"))
    assert (kept.emotion, kept.rule) == ("Romance", None)


def test_every_rule_can_decide() -> None:
    for rule in RULES:
        assert suggest(rule.words, ()).rule == rule
        assert rule.emotion in DAR_EMOTIONS
