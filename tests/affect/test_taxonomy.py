"""The label sets agree with their sources, and gold reasons speak of their own feeling."""

import json
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affect.records import read_rows
from affect.taxonomy import (
    DAR_AFFECT_CUES,
    DAR_EMOTIONS,
    DAR_SPELLINGS,
    EMOTIC_EMOTIONS,
    EMOTRANS_EMOTIONS,
    MTMEUR_EMOTIONS,
    canonical_dar_emotion,
    speaks_of,
)
from tests.paths import SHARED, needs_shared


def test_sizes_and_uniqueness() -> None:
    for labels, size in (
        (DAR_EMOTIONS, 27),
        (EMOTRANS_EMOTIONS, 7),
        (MTMEUR_EMOTIONS, 7),
        (EMOTIC_EMOTIONS, 26),
    ):
        assert len(labels) == len(set(labels)) == size
    assert list(DAR_EMOTIONS) == sorted(DAR_EMOTIONS)
    assert all(label == label.lower() for label in EMOTIC_EMOTIONS)
    assert "doubt/confusion" in EMOTIC_EMOTIONS


@needs_shared
def test_dar_labels_are_those_of_the_released_records() -> None:
    text = (SHARED / "annotations" / "VCE" / "train_labels.one_real_record.json").read_text()
    assert tuple(sorted(json.loads(text)["00000"]["emotions"])) == DAR_EMOTIONS


@needs_shared
def test_every_spelling_of_the_papers_list_is_known() -> None:
    text = (SHARED / "papers" / "dar.txt").read_text()
    listed = text.split("consisting of 27 emotion categories, including ")[1].split(".")[0]
    canonical = [canonical_dar_emotion(name) for name in listed.split(", ")]
    assert None not in canonical
    assert set(canonical) == set(DAR_EMOTIONS)


def test_spellings() -> None:
    assert canonical_dar_emotion("Awe") == "Awe (or Wonder)"
    assert canonical_dar_emotion("Awe (or Wonder)") == "Awe (or Wonder)"
    assert canonical_dar_emotion("Empathic Pain") == "Empathic Pain"
    for other in ("awe", "AWE", " Awe", "Awe ", "", "Happy", "Painful", "Anger/Fear", "Enjoyment"):
        assert canonical_dar_emotion(other) is None
    assert set(DAR_SPELLINGS.values()) == set(DAR_EMOTIONS)


def test_cues_cover_all_labels_generously() -> None:
    assert set(DAR_AFFECT_CUES) == set(DAR_EMOTIONS)
    for emotion, stems in DAR_AFFECT_CUES.items():
        assert len(stems) >= 8, emotion
        assert all(stem == stem.lower() and len(stem) >= 3 for stem in stems), emotion


@pytest.mark.parametrize("emotion", DAR_EMOTIONS)
def test_a_label_speaks_of_itself(emotion: str) -> None:
    assert speaks_of(f"What remains with the viewer is {emotion}.", emotion)


def test_speaks_of() -> None:
    assert speaks_of("The mouth-watering cake", "Craving")
    assert speaks_of("It LOOKS SCARY", "Fear")
    assert speaks_of("the viewer\u2019s laughter", "Amusement")
    assert speaks_of("a sense of awe", "Awe")
    for filler in ("", "the the the", "the camera pans over a table and stops", "....", "123"):
        for emotion in DAR_EMOTIONS:
            assert not speaks_of(filler, emotion), (filler, emotion)
    # A stem counts at the begin of a word only.
    assert not speaks_of("the unhappy man", "Joy")
    assert not speaks_of("what happened was made in the east", "Joy")
    with pytest.raises(ValueError, match="'Happy' is not one of"):
        speaks_of("text", "Happy")


def speaks_slowly(text: str, emotion: str) -> bool:
    """Word by word, as `speaks_of` is described."""
    words = re.findall(r"[a-z]+(?:['\u2019-][a-z]+)*", text.lower())
    parts = [part for word in words for part in (word, *word.split("-"))]
    return any(part.startswith(stem) for part in parts for stem in DAR_AFFECT_CUES[emotion])


PIECES = st.sampled_from(
    [" ", "-", "'", "\u2019", "5", "x", "un", "\u212a", "\u00e9", "ing", "fashion", "old"]
    + [stem for stems in DAR_AFFECT_CUES.values() for stem in sorted(stems)][::7]
    + [stem for stems in DAR_AFFECT_CUES.values() for stem in sorted(stems) if "-" in stem]
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=20))
def test_speaks_of_is_what_word_by_word_says(text: str) -> None:
    for emotion in DAR_EMOTIONS:
        assert speaks_of(text, emotion) == speaks_slowly(text, emotion), emotion


@needs_shared
def test_every_gold_reason_speaks_of_its_label() -> None:
    for row in read_rows(SHARED / "videos" / "real.jsonl"):
        assert row.timeline is not None
        for segment in row.timeline.segments:
            assert speaks_of(segment.reason, segment.emotion), (row.id, segment)


def test_the_vocabulary_needs_no_torch() -> None:
    code = (
        "import sys, affect.matching, affect.parsing, affect.prompts, affect.records;"
        "sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
