"""The confusion matrix and the labels that it has."""

from hypothesis import given, settings
from hypothesis import strategies as st

from affect.taxonomy import DAR_EMOTIONS
from evaluation.analysis.confusion import confusion_of
from evaluation.analysis.document import NOTHING, Confusion
from evaluation.analysis.labels import (
    BLANK_LABEL,
    MAX_LABEL_CHARACTERS,
    MAX_OTHER_LABELS,
    OTHER_LABELS,
    LabelSet,
    shown_label,
)
from evaluation.metrics import PROTOCOLS
from tests.evaluation.analysis.drawn import Written, load, written_clips

TWO = [[0, 4, "Joy"], [4, 8, "Fear"]]


def confusion(written: list[Written], protocol: str = "strict") -> Confusion:
    scores = [PROTOCOLS[protocol].score_clip(clip) for clip in load(written)[1]]
    labels = LabelSet.of(segment.emotion for score in scores for segment in score.predicted)
    return confusion_of(scores, labels)


def entries(found: Confusion) -> dict[tuple[str, str], int]:
    return {
        (truth, given_label): count
        for truth, row in zip(found.labels, found.counts, strict=True)
        for given_label, count in zip(found.labels, row, strict=True)
        if count
    }


def test_strict_by_hand() -> None:
    found = confusion(
        [
            ("right", TWO, TWO),
            ("one", TWO, [[0, 8, "Joy"]]),
            ("three", TWO, [[0, 1, "Relief"], [1, 4, "Joy"], [4, 8, "Anger"]]),
            ("unparsed", TWO, "no"),
            ("missing", TWO, None),
        ]
    )
    assert found.labels == (*DAR_EMOTIONS, NOTHING)
    assert entries(found) == {
        ("Joy", "Joy"): 3,
        ("Fear", "Fear"): 1,
        ("Fear", "Anger"): 1,
        ("Joy", NOTHING): 2,
        ("Fear", NOTHING): 3,
        (NOTHING, "Relief"): 1,
    }


def test_what_is_left_over_on_both_sides_shares_a_place() -> None:
    """0-9 pairs best with 1-10 alone (.8); the Relief of 9-10 stands nowhere, the Joy alone."""
    written: list[Written] = [
        ("a", [[0, 1, "Joy"], [1, 10, "Fear"]], [[0, 9, "Fear"], [9, 10, "Relief"]])
    ]
    assert entries(confusion(written)) == {("Fear", "Fear"): 1, ("Joy", NOTHING): 1}


def test_paper_knows_no_lone_prediction_and_released_no_lone_segment_at_all() -> None:
    written: list[Written] = [
        ("three", TWO, [[0, 1, "Relief"], [1, 4, "Joy"], [4, 8, "Fear"]]),
        ("one", TWO, [[0, 8, "Joy"]]),
        ("lost", TWO, None),
    ]
    assert entries(confusion(written, "paper")) == {
        ("Joy", "Joy"): 2,
        ("Fear", "Fear"): 1,
        ("Fear", "Joy"): 1,
        ("Joy", NOTHING): 1,
        ("Fear", NOTHING): 1,
    }
    assert entries(confusion(written, "released")) == {
        ("Joy", "Relief"): 1,
        ("Fear", "Joy"): 1,
        ("Joy", "Joy"): 1,
    }


def test_labels_outside_the_27_stand_after_them_sorted() -> None:
    found = confusion([("a", TWO, [[0, 4, "Mirth"], [4, 8, "Happy"]])], "paper")
    assert found.labels == (*DAR_EMOTIONS, "Happy", "Mirth", NOTHING)
    assert entries(found) == {("Joy", "Mirth"): 1, ("Fear", "Happy"): 1}


def test_inventing_labels_does_not_blow_it_up() -> None:
    often = [f"label {number:03}" for number in range(MAX_OTHER_LABELS)]
    labels = LabelSet.of([*often, *often, *(f"rare {number}" for number in range(10_000))])
    assert labels.names == (*DAR_EMOTIONS, *often, OTHER_LABELS)
    assert labels.names[labels.index("rare 7")] == OTHER_LABELS
    assert labels.names[labels.index("label 003")] == "label 003"


def test_how_strange_labels_are_shown() -> None:
    assert shown_label("  ") == BLANK_LABEL
    assert shown_label(" Joy ") == OTHER_LABELS
    assert shown_label(NOTHING) == OTHER_LABELS
    assert shown_label("a\x1b[31m\nb\ud800") == "a\ufffd[31m\ufffdb\ufffd"
    assert len(shown_label("x" * 1000)) == MAX_LABEL_CHARACTERS


@given(st.lists(st.text() | st.sampled_from(DAR_EMOTIONS), max_size=60))
def test_every_label_has_its_place(written: list[str]) -> None:
    labels = LabelSet.of(written)
    assert len(set(labels.names)) == len(labels.names) <= 27 + MAX_OTHER_LABELS + 1
    assert NOTHING not in labels.names
    for label in written:
        name = labels.names[labels.index(label)]
        assert (name == label) if label in DAR_EMOTIONS else (name not in DAR_EMOTIONS)
        assert name.isprintable()


@given(written_clips())
@settings(max_examples=25, deadline=None)
def test_its_sum_is_the_number_of_places(written: list[Written]) -> None:
    for name, protocol in PROTOCOLS.items():
        found = confusion(written, name)
        scores = [protocol.score_clip(clip) for clip in load(written)[1]]
        assert sum(map(sum, found.counts)) == sum(len(score.pairs) for score in scores)
        truth_only = [sum(row) for row in found.counts[:-1]]
        assert sum(truth_only) == sum(
            pair.truth_emotion is not None for score in scores for pair in score.pairs
        )
        same = sum(found.counts[i][i] for i in range(len(DAR_EMOTIONS)))
        assert same == sum(pair.same_emotion for score in scores for pair in score.pairs)
