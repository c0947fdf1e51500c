"""What one file of answers measures: literal values, and what is refused."""

from pathlib import Path

import pytest

from cli.ladder.measures import METRICS, measure
from evaluation.clips import read_truths
from evaluation.predictions import read_predictions
from tests.cli.ladder.written_runs import GOLD, HALF, write_answers, write_truths
from tests.evaluation.files import write_lines


def means(tmp_path: Path, *texts: str, **length: object) -> dict[str, float]:
    truths = read_truths(write_truths(tmp_path / "rows.jsonl"))
    path = write_answers(tmp_path / "run", *texts, **length)  # type: ignore[arg-type]
    return measure(truths, read_predictions(path)).means()


def test_gold_has_full_marks(tmp_path: Path) -> None:
    found = means(tmp_path, GOLD, GOLD, num_tokens=50)
    assert tuple(found) == METRICS
    lengths = {"length_tokens": 50.0, "truncated": 0.0}
    # Equation 8 pays by length: reasons of 15 words earn exp(-105/40) = .0724.
    expected = (
        dict.fromkeys(METRICS, 1.0) | lengths | {"paper_total": pytest.approx(0.8609, abs=1e-4)}
    )
    assert found == expected


def test_half_an_answer(tmp_path: Path) -> None:
    found = means(tmp_path, HALF, GOLD)
    assert found["strict_miou"] == pytest.approx((0.5 + 0.0 + 1.0 + 1.0) / 4)
    assert found["strict_sc_acc"] == found["paper_sc_acc"] == 0.5
    assert found["count"] == pytest.approx((0.5134 + 1.0) / 2, abs=1e-4)
    assert found["valid_timeline"] == 1.0
    # Joy over [0, 8] has IoU exactly .5 with the true Joy: one of two places under hardened.
    assert found["emo"] == pytest.approx((0.5 + 1.0) / 2)


def test_an_empty_answer_earns_nothing_and_counts(tmp_path: Path) -> None:
    found = means(tmp_path, "", "", num_tokens=220, finished=False)
    assert found["total"] == found["strict_miou"] == found["valid_json"] == 0.0
    assert found["paper_total"] == pytest.approx(0.03)
    assert (found["length_tokens"], found["truncated"]) == (220.0, 1.0)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ({"id": "b", "text": None, "error": "b.mp4: no picture"}, "'b' has no answer .b.mp4: no"),
        (None, "'b' has no answer .no line"),
        ({"id": "b", "text": "x"}, "answer to 'b' lacks num_tokens or finished"),
        ({"id": "c", "text": "x"}, "id 'c' is not among the rows"),
    ],
)
def test_what_is_not_measured_is_refused(
    tmp_path: Path, line: dict[str, object] | None, complaint: str
) -> None:
    lines: list[dict[str, object]] = [
        {"header": {"model": "by hand"}},
        {"id": "a", "text": GOLD, "num_tokens": 9, "finished": True},
    ]
    path = write_lines(tmp_path / "x.jsonl", [*lines, *([line] if line else [])])
    truths = read_truths(write_truths(tmp_path / "rows.jsonl"))
    with pytest.raises(ValueError, match=complaint):
        measure(truths, read_predictions(path))
