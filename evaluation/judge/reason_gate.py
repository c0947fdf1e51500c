"""Whether a reason says anything at all: what does not is worth 0, and no judge is asked.

    >>> why_says_nothing("The viewer feels joy because", "Joy")
    'says nothing of the clip: 0 content words, 3 are needed'
    >>> why_says_nothing("A dog leaps for the ball.", "Joy") is None
    True

The *content words* of a reason are what is left of its words when these are taken away: words that
any reason about any video is made of (`UNSPECIFIC_WORDS`: "because", "I", "viewer", "feels"), words
that begin any answer to anything ("Let's think step by step", to which judges were seen to give
points: arXiv 2507.08794), words of the 27 labels' names, words that speak of the given emotion
(`speaks_of`: "joyful", "happy"), and words without a letter. With fewer than `MIN_CONTENT_WORDS`
different ones, nothing is named that a judge could look for. Accents and invisible characters are
taken off before; where a script puts no spaces between words, two characters are a word.

This is no test of quality, which is the judge's: every annotated reason passes.
"""

import math
import re
import unicodedata

from affect.taxonomy import DAR_EMOTIONS, canonical_dar_emotion, speaks_of
from affect.unspecific_words import UNSPECIFIC_WORDS

MIN_CONTENT_WORDS = 3
"""As many as the hardened reward asks of a reason (`rewards.constants`)."""

GATE_VERSION = 2
"""Raised when another reason may pass: judgements made before do not mix with those made after."""

_LABEL_WORDS = frozenset(
    word for label in DAR_EMOTIONS for word in re.findall("[a-z]+", label.lower())
)
_OPENERS = """
    ai analyse analysis analyze answer assistant can't cannot certainly consider describe explain
    explained explanation following follows here's know language let let's lets model need ok okay
    problem process question reason reasoning say solution solve solving sorry step steps sure task
    think thinking thought thoughts unable understand
"""
_OPENER_WORDS = frozenset(_OPENERS.split())
# Letters by their category, and yet nothing is to be seen of them.
_INVISIBLE_LETTERS = frozenset("\u115f\u1160")
# Kana, Han, Thai, Lao, Tibetan, Burmese, Khmer: a run of them is a sentence, not a word.
_UNSPACED = (
    r"\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:'[^\W_{_UNSPACED}]+)*")


def why_says_nothing(reason: str, emotion: str) -> str | None:
    """Why a reason is worth nothing, or None for one that a judge is to see.

    emotion: the label it stands beside; of any other text than the 27 no words are known.
    """
    plain = _plain(reason)
    if not any(map(str.isalpha, plain)):
        return "no letter in the reason"
    num_words = _num_words(content_words(reason, emotion))
    if num_words >= MIN_CONTENT_WORDS:
        return None
    return (
        f"says nothing of the clip: {num_words} content word{'' if num_words == 1 else 's'}, "
        f"{MIN_CONTENT_WORDS} are needed"
    )


def content_words(reason: str, emotion: str) -> set[str]:
    """The different content words of a reason, lower-cased and without accents; of a script without
    spaces its different characters."""
    is_label = canonical_dar_emotion(emotion) is not None
    return {
        word
        for word in set(_WORD.findall(_plain(reason)))
        if any(map(str.isalpha, word))
        and word not in UNSPECIFIC_WORDS
        and word not in _OPENER_WORDS
        and word not in _LABEL_WORDS
        and not (is_label and speaks_of(word, emotion))
    }


def _num_words(words: set[str]) -> int:
    num_characters = sum(_UNSPACED_CHARACTER.fullmatch(word) is not None for word in words)
    return len(words) - num_characters + math.ceil(num_characters / 2)


def _plain(text: str) -> str:
    """Compatible forms made one, without marks, controls and what else is not to be seen."""
    apart = unicodedata.normalize("NFKD", text.replace("\u2019", "'"))
    return "".join(map(_shown, apart)).casefold()


def _shown(character: str) -> str:
    if character.isspace():
        return " "
    # M: accents and other marks. C: controls, zero-width and direction marks, halves of characters.
    if unicodedata.category(character)[0] in "MC" or character in _INVISIBLE_LETTERS:
        return ""
    return character
