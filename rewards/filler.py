"""What a reason must not be if it is to earn anything: filler, a copy, or silent on its label.

Example: "the the the ..." has one distinct word in 120; "The viewer feels joy." has no word of its
own; "A tall man waves" says nothing of joy.

Every limit gives way to the reference: a reason is not held to more distinct words, fewer repeats
or clearer cues than the annotated reason of the segment that it is matched with. So the truth
itself always earns full marks, however its author wrote, and nothing can earn more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from affect.taxonomy import speaks_of
from affect.timeline import Timeline
from rewards.constants import HARDENED, HardenedConstants
from rewards.words import distinct_share, repeated_share, split_words, word_sequences

# Function words, and the words that any reason about any video can be made of.
_UNSPECIFIC_TEXT = """
    a about after again all also always an and another any are around as at away back be became
    because become becomes been before being below between both but by can could did do does doing
    done down during each either else even ever every few first for from further gets give gives
    going had has have having he her here hers him his how i if in into is it its itself just last
    least less like made make makes making many may me might more most much must my neither never
    next no nor not nothing now of off often on once one only onto or other our out over own quite
    rather really s same second see seen several shall she should since so some something still
    such t than that the their them then there these they thing things third this those through
    thus to together too toward towards two under until up upon us very was way we well were what
    when where whether which while who whole whom whose why will with within without would yet you
    your
    audience clip creates emotion emotional emotionally emotions evoke evokes feel feeling feelings
    feels felt frame image images moment mood part person people picture reaction response scene
    scenes segment segments sense show showing shown shows spectator time video viewer viewer's
    viewers visual watch watches watching
"""
_UNSPECIFIC = frozenset(_UNSPECIFIC_TEXT.split())
_PROMPT_SEQUENCE_WORDS = 4


@dataclass(frozen=True, slots=True)
class ReasonProfile:
    """What is measured on one reason for one label; shares are in [0, 1]."""

    num_words: int
    word_set: frozenset[str]
    distinct_share: float
    repeated_share: float
    num_specific_words: int  # counted up to the limit that is asked for, no further
    speaks_of_label: bool


def profile_reason(
    reason: str, words: Sequence[str], emotion: str, constants: HardenedConstants = HARDENED
) -> ReasonProfile:
    """Measure one reason, given with its words, against its label (one of the 27)."""
    word_set = frozenset(words)
    return ReasonProfile(
        num_words=len(words),
        word_set=word_set,
        distinct_share=distinct_share(words),
        repeated_share=repeated_share(words),
        num_specific_words=_num_specific(word_set, emotion, constants.min_specific_words),
        # Most reasons have a single word that tells; only the text shows hyphenated cues.
        speaks_of_label=any(_is_cue(word, emotion) for word in word_set)
        or speaks_of(reason, emotion),
    )


def _num_specific(word_set: frozenset[str], emotion: str, enough: int) -> int:
    """Distinct words neither unspecific nor a cue of the label; stops counting at `enough`."""
    count = 0
    for word in word_set - _UNSPECIFIC:
        if not _is_cue(word, emotion):
            count += 1
            if count == enough:
                break
    return count


@lru_cache(maxsize=65536)
def _is_cue(word: str, emotion: str) -> bool:
    """`speaks_of` for one word; the same few thousand words come again in every reply."""
    return speaks_of(word, emotion)


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
        or reason.repeated_share > max(constants.max_repeated_share, reference.repeated_share)
        or reason.num_specific_words
        < min(constants.min_specific_words, reference.num_specific_words)
        or (reference.speaks_of_label and not reason.speaks_of_label)
    )


def prompt_share(words: Sequence[str], prompt_text: str) -> float:
    """Share of a reason's four-word sequences that stand in the prompt, in [0, 1]."""
    sequences = word_sequences(words, _PROMPT_SEQUENCE_WORDS)
    if not sequences or not prompt_text:
        return 0.0
    known = _prompt_sequences(prompt_text)
    return sum(map(known.__contains__, sequences)) / len(sequences)


@lru_cache(maxsize=256)
def _prompt_sequences(prompt_text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(word_sequences(split_words(prompt_text), _PROMPT_SEQUENCE_WORDS))
