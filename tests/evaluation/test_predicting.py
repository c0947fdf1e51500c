"""The row loop and its file: resumed, interrupted, cut short, retried, refused."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from affect.records import Row, read_rows
from evaluation.predicting import Outcome, answer_rows
from evaluation.prediction_writer import PredictionWriter
from evaluation.predictions import Answer, PredictionHeader, read_predictions
from tests.evaluation.files import reply, write_rows

HEADER = PredictionHeader(model="scripted", temperature=0.0, seed=0)
SPANS = [[0, 4, "Joy"], [4, 8, "Fear"]]


class ScriptedAnswers:
    """A stand-in for a model: answers from a table, remembers which rows it was asked about."""

    def __init__(self, answers: dict[str, Answer], interrupt_at: str | None = None) -> None:
        self.answers = answers
        self.interrupt_at = interrupt_at
        self.asked: list[list[str]] = []

    def answer(self, rows: Sequence[Row]) -> Iterator[Mapping[str, Answer]]:
        for first in range(0, len(rows), 3):
            batch = [row.id for row in rows[first : first + 3]]
            if self.interrupt_at in batch:
                raise KeyboardInterrupt
            self.asked.append(batch)
            yield {row_id: self.answers[row_id] for row_id in batch}


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    return read_rows(write_rows(tmp_path / "rows.jsonl", dict.fromkeys("abcdefg", SPANS)))


def good(row_id: str) -> Answer:
    return Answer(text=reply(SPANS) + row_id, num_tokens=3, finished=True)


def run(
    path: Path, rows: list[Row], script: ScriptedAnswers, header: PredictionHeader = HEADER
) -> Outcome:
    with PredictionWriter(path, header) as output:
        return answer_rows(rows, output, script.answer, show_progress=False)


def test_batches_in_order_and_a_file_that_reads_back(tmp_path: Path, rows: list[Row]) -> None:
    script = ScriptedAnswers({row.id: good(row.id) for row in rows})
    path = tmp_path / "new" / "p.jsonl"
    assert run(path, rows, script) == Outcome(num_kept=0, num_answered=7, num_failed=0)
    assert script.asked == [["a", "b", "c"], ["d", "e", "f"], ["g"]]
    found = read_predictions(path)
    assert found.header == HEADER
    assert found.replies == script.answers


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, rows: list[Row]) -> None:
    path, whole = tmp_path / "p.jsonl", tmp_path / "whole.jsonl"
    answers = {row.id: good(row.id) for row in rows}
    with pytest.raises(KeyboardInterrupt):
        run(path, rows, ScriptedAnswers(answers, interrupt_at="e"))
    assert set(read_predictions(path).replies) == {"a", "b", "c"}
    again = ScriptedAnswers(answers)
    assert run(path, rows, again) == Outcome(num_kept=3, num_answered=4, num_failed=0)
    assert again.asked == [["d", "e", "f"], ["g"]]
    run(whole, rows, ScriptedAnswers(answers))
    assert path.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("num_bytes_lost", [1, 2, 20, 60])
def test_a_line_cut_by_a_kill_is_asked_again(
    tmp_path: Path, rows: list[Row], num_bytes_lost: int
) -> None:
    path, whole = tmp_path / "p.jsonl", tmp_path / "whole.jsonl"
    answers = {row.id: good(row.id) for row in rows}
    run(whole, rows, ScriptedAnswers(answers))
    path.write_bytes(whole.read_bytes()[:-num_bytes_lost])
    script = ScriptedAnswers(answers)
    run(path, rows, script)
    assert script.asked == ([] if num_bytes_lost == 1 else [["g"]])
    assert path.read_bytes() == whole.read_bytes()


def test_a_header_cut_by_a_kill_starts_over(tmp_path: Path, rows: list[Row]) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"header": {"mod', encoding="utf-8")
    run(path, rows, ScriptedAnswers({row.id: good(row.id) for row in rows}))
    assert len(read_predictions(path).replies) == 7


def test_a_failed_row_is_stored_with_its_error_and_tried_again(
    tmp_path: Path, rows: list[Row]
) -> None:
    path = tmp_path / "p.jsonl"
    answers = {row.id: good(row.id) for row in rows} | {"b": Answer(text=None, error="no picture")}
    assert run(path, rows, ScriptedAnswers(answers)) == Outcome(0, 6, 1)
    stored = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert stored[2] == {
        "id": "b",
        "text": None,
        "num_tokens": None,
        "finished": None,
        "error": "no picture",
    }
    again = ScriptedAnswers({"b": good("b")})
    assert run(path, rows, again) == Outcome(6, 1, 0)
    assert again.asked == [["b"]]
    assert read_predictions(path).replies["b"] == good("b")


def test_another_header_is_refused_and_nothing_changes(tmp_path: Path, rows: list[Row]) -> None:
    path = tmp_path / "p.jsonl"
    script = ScriptedAnswers({row.id: good(row.id) for row in rows})
    run(path, rows, script)
    before = path.read_bytes()
    other = HEADER.model_copy(update={"temperature": 0.8, "model": "elsewhere"})
    with pytest.raises(ValueError, match=r"begun in another way \(temperature: 0.0 in the file, 0"):
        run(path, rows, script, other)
    assert path.read_bytes() == before
    moved = HEADER.model_copy(update={"model": "elsewhere"})
    assert run(path, rows, script, moved).num_kept == 7


def test_two_writers_are_refused(tmp_path: Path) -> None:
    with (
        PredictionWriter(tmp_path / "p.jsonl", HEADER),
        pytest.raises(ValueError, match="another process is writing"),
    ):
        PredictionWriter(tmp_path / "p.jsonl", HEADER)


def test_answers_to_other_rows_are_refused(tmp_path: Path, rows: list[Row]) -> None:
    script = ScriptedAnswers({row.id: good(row.id) for row in rows})
    run(tmp_path / "p.jsonl", rows, script)
    with pytest.raises(ValueError, match="answers 'a', which is not among the rows"):
        run(tmp_path / "p.jsonl", rows[1:], script)


def test_a_file_with_a_header_alone_is_begun_anew(tmp_path: Path, rows: list[Row]) -> None:
    path = tmp_path / "p.jsonl"
    with PredictionWriter(path, PredictionHeader(model="misspelt", temperature=0.5)):
        pass
    outcome = run(path, rows, ScriptedAnswers({row.id: good(row.id) for row in rows}))
    assert outcome == Outcome(num_kept=0, num_answered=7, num_failed=0)
    found = read_predictions(path)
    assert (found.header, len(found.replies)) == (HEADER, 7)


def test_a_file_from_before_engines_goes_on(tmp_path: Path, rows: list[Row]) -> None:
    """Its header has neither `engine` nor `endpoint`: transformers it was."""
    path = tmp_path / "p.jsonl"
    answered = {"id": "a", "text": "x", "num_tokens": 3, "finished": True, "error": None}
    header = {"model": "scripted", "temperature": 0.0, "seed": 0}
    lines = [json.dumps({"header": header}), json.dumps(answered)]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    now = HEADER.model_copy(update={"engine": "transformers"})
    with PredictionWriter(path, now) as output:
        assert output.answered == {"a"}
    vllm = HEADER.model_copy(update={"engine": "vllm"})
    with pytest.raises(ValueError, match="engine: 'transformers' in the file, 'vllm' now"):
        PredictionWriter(path, vllm)


def test_what_a_predictor_notes_stands_beside_the_progress(
    tmp_path: Path, rows: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    script = ScriptedAnswers({row.id: good(row.id) for row in rows})
    with PredictionWriter(tmp_path / "p.jsonl", HEADER) as output:
        answer_rows(rows, output, script.answer, notes=lambda: {"cost": "not known"})
    assert "failed=0, cost=not known" in capsys.readouterr().err
