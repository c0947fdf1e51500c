"""What a reason must not be if it is to earn anything: filler, a copy, or silent on its label.

Example: "the the the ..." has one distinct word in 120; "The viewer feels joy." has no word of its
own; "A tall man waves" says nothing of joy.

Every limit gives way to the reference: a reason is not held to more distinct words, fewer repeats
or clearer cues than the annotated reason of the segment that it is matched with. So the truth
itself always earns full marks, however its author wrote, and nothing can earn more.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from affect.taxonomy import speaks_of
from affect.timeline import Timeline
from affect.unspecific_words import UNSPECIFIC_WORDS
from rewards.constants import HARDENED, HardenedConstants
from rewards.words import (
    DistinctWords,
    distinct_words,
    repeated_share,
    share_of_sequences,
    split_words,
    word_sequences,
)

_PROMPT_SEQUENCE_WORDS = 4
_MAX_KNOWN_WORDS = 8192


class ReasonProfile(NamedTuple):
    """What is measured on one reason for one label; shares are in [0, 1]."""

    words: Sequence[str]
    word_set: set[str]
    known_share: float  # of three-word sequences; `repeated_share` is at most this
    num_specific_words: int  # counted up to the limit that is asked for, no further
    speaks_of_label: bool

    @property
    def num_words(self) -> int:
        return len(self.words)

    @property
    def distinct_share(self) -> float:
        """Distinct words over all words; 0 without a word."""
        return len(self.word_set) / len(self.words) if self.words else 0.0

    @property
    def repeated_share(self) -> float:
        """Measured when asked for: `known_share` says that it is low for all but filler."""
        return repeated_share(self.words)


def profile_reason(
    reason: str,
    words: Sequence[str],
    emotion: str,
    constants: HardenedConstants = HARDENED,
    distinct: DistinctWords | None = None,
) -> ReasonProfile:
    """Measure one reason, given with its words, against its label (one of the 27).

    `distinct` are the distinct words, for callers that have them already.
    """
    word_set, num_known_sequences = distinct or distinct_words(words)
    cues = _cue_words(emotion)
    return ReasonProfile(
        words=words,
        word_set=word_set,
        known_share=share_of_sequences(num_known_sequences, words),
        num_specific_words=_num_specific(word_set, cues, constants.min_specific_words),
        # Most reasons have a single word that tells; only the text shows hyphenated cues.
        speaks_of_label=not word_set.isdisjoint(cues.found)
        or any(map(cues.__getitem__, word_set))
        or speaks_of(reason, emotion),
    )


def _num_specific(word_set: set[str], cues: "_CueWords", enough: int) -> int:
    """Distinct words neither unspecific nor a cue of the label; stops counting at `enough`."""
    count = 0
    for word in word_set:
        if word not in UNSPECIFIC_WORDS and not cues[word]:
            count += 1
            if count == enough:
                break
    return count


class _CueWords(dict[str, bool]):
    """Whether a word speaks of one emotion; the same few thousand come again in every reply.

    `found` are those that do.
    """

    def __init__(self, emotion: str) -> None:
        super().__init__()
        self.emotion = emotion
        self.found: set[str] = set()

    def __missing__(self, word: str) -> bool:
        if len(self) == _MAX_KNOWN_WORDS:
            self.clear()
            self.found.clear()
        speaks = self[word] = speaks_of(word, self.emotion)
        if speaks:
            self.found.add(word)
        return speaks


_cue_words = cache(_CueWords)


@lru_cache(maxsize=1024)
def reference_profiles(truth: Timeline) -> tuple[ReasonProfile, ...]:
    """The profiles of a truth's own reasons: the samples of a group all ask for the same."""
    return tuple(
        profile_reason(segment.reason, split_words(segment.reason), segment.emotion)
        for segment in truth.segments
    )


def is_filler(
    reason: ReasonProfile, reference: ReasonProfile, constants: HardenedConstants = HARDENED
) -> bool:
    """Whether a reason repeats itself, says nothing of its own, or is silent on its label."""
    return (
        reason.distinct_share < min(constants.min_distinct_share, reference.distinct_share)
        or (
            reason.known_share > constants.max_repeated_share
            and reason.repeated_share > max(constants.max_repeated_share, reference.repeated_share)
        )
        or reason.num_specific_words
        < min(constants.min_specific_words, reference.num_specific_words)
        or (reference.speaks_of_label and not reason.speaks_of_label)
    )


def prompt_share(words: Sequence[str], prompt_text: str) -> float:
    """Share of a reason's four-word sequences that stand in the prompt, in [0, 1]."""
    num_sequences = len(words) - _PROMPT_SEQUENCE_WORDS + 1
    if num_sequences <= 0 or not prompt_text:
        return 0.0
    known = _prompt_sequences(prompt_text)
    sequences = word_sequences(words, _PROMPT_SEQUENCE_WORDS)
    return sum(map(known.__contains__, sequences)) / num_sequences


def prompt_share_bound(words: Sequence[str], prompt_text: str) -> float:
    """What `prompt_share` is at most, in a quarter of its time.

    A sequence can't stand in the prompt where its first word does not.
    """
    num_sequences = len(words) - _PROMPT_SEQUENCE_WORDS + 1
    if num_sequences <= 0 or not prompt_text:
        return 0.0
    return sum(map(_prompt_words(prompt_text).__contains__, words)) / num_sequences


@lru_cache(maxsize=256)
def _prompt_words(prompt_text: str) -> frozenset[str]:
    return frozenset(split_words(prompt_text))


@lru_cache(maxsize=256)
def _prompt_sequences(prompt_text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(word_sequences(split_words(prompt_text), _PROMPT_SEQUENCE_WORDS))
