"""The prompts from proposing to tagging are frozen: who changes one changes its snapshot too.

Snapshots: `tests/affect/snapshots/build_*.txt`, the prompts as rendered for the values below.
"""

from pathlib import Path

import pytest

from affect.prompts import load_prompt, render_prompt
from affect.taxonomy import DAR_EMOTIONS
from data_prep.records import GENRES, SCENES

SNAPSHOTS = Path(__file__).parent / "snapshots"
VALUES: dict[str, dict[str, str]] = {
    "build_propose": {"duration": "5.3", "min_length": "0.4", "max_segments": "32"},
    "build_verify": {
        "segment": "S_2",
        "start": "2.0",
        "end": "4.0",
        "duration": "5.3",
        "event": '"A bird hops."',
        "event_before": '"A pond lies still."',
        "event_after": "nothing; the clip ends here",
        "cuts": "3.0",
        "min_length": "0.4",
        "max_splits": "8",
    },
    "build_describe": {
        "segment": "S_2",
        "description": "D_2",
        "description_before": "D_1",
        "before": '"A pond lies still."',
        "start": "2.0",
        "end": "4.0",
        "duration": "5.3",
        "max_words": "120",
        "max_entities": "8",
        "max_entity_words": "4",
    },
    "build_describe_again": {
        "description": "D_2",
        "refused": '"A bird hops on a red ball."',
        "not_found": '"red ball"',
    },
    "build_tag": {
        "genres": ", ".join(GENRES),
        "scenes": ", ".join(SCENES),
        "descriptions": 'D_1: "A pond lies still."\nD_2: "A bird hops."',
    },
}


@pytest.mark.parametrize("name", sorted(VALUES))
def test_snapshot(name: str) -> None:
    rendered = render_prompt(name, **VALUES[name])
    snapshot = SNAPSHOTS / f"{name}.txt"
    assert rendered + "\n" == snapshot.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(VALUES))
def test_none_names_an_emotion(name: str) -> None:
    """None of these stages is given the labels, or may think of them."""
    text = load_prompt(name)
    assert "$labels" not in text
    words = set(text.replace(",", " ").replace(".", " ").split())
    # "Horror" is also a genre of Appendix C.
    assert words & set(DAR_EMOTIONS) <= ({"Horror"} if name == "build_tag" else set())


@pytest.mark.parametrize("name", ["build_propose", "build_verify", "build_describe", "build_tag"])
def test_each_says_how_to_answer(name: str) -> None:
    text = load_prompt(name)
    assert "Answer with one JSON object and nothing else, no code fence" in text
    assert "silent video" in text
    assert "never" in text and "instruction" in text  # what is quoted or shown is data
