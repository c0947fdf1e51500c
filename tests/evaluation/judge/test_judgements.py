"""Files of judgements: what is read back, what is refused, how a stopped one goes on."""

import json
from pathlib import Path
from typing import Any

import pytest

from affect.judge_dimensions import JUDGE_DIMENSIONS
from evaluation.judge.judgement_writer import JudgementWriter
from evaluation.judge.judgements import (
    JudgeHeader,
    JudgeScoreRow,
    SegmentJudgement,
    judge_label,
    judge_scores_path,
    read_judge_scores,
    read_judgements,
    write_judge_scores,
)
from evaluation.judge.samples import unscored

HEADER = JudgeHeader(
    judge="judge_paper",
    model={"model": "m"},
    samples=1,
    prompt_hash="ab",
    budget={"fps": 1.0},
    predictions_sha256="cd",
    rows_sha256="ef",
)
POINTS = {name: float(place) for place, name in enumerate(JUDGE_DIMENSIONS)}


def judged(clip: str, place: int, overall: float = 3.0, **fields: Any) -> SegmentJudgement:
    values = {"id": clip, "segment": place, "state": "judged", "scores": POINTS, **fields}
    return SegmentJudgement.model_validate({"overall": overall, **values})


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_labels_are_file_names() -> None:
    assert judge_label("judge_paper", "gpt-4o") == "judge_paper.gpt-4o"
    label = judge_label("judge_hardened", "Qwen/Qwen3-VL-32B")
    assert label == "judge_hardened.Qwen_Qwen3-VL-32B"
    assert judge_label("judge_paper", "../../a b\n:c") == "judge_paper..._.._a_b_c"
    path = Path("judgements/test/judge_paper.gpt-4o.jsonl")
    assert judge_scores_path(path).name == "judge_paper.gpt-4o.scores.json"


def test_what_is_written_is_read_in_the_order_of_the_segments(tmp_path: Path) -> None:
    path = tmp_path / "judge_paper.m.jsonl"
    with JudgementWriter(path, HEADER) as output:
        output.write(judged("a", 1), unscored("b", 0, "refused"))
        output.write(judged("a", 0, comment="na\u00efve \ud800"))
    found = read_judgements(path)
    assert (found.label, found.header) == ("judge_paper.m", HEADER)
    assert [one.segment for one in found.of_clip("a")] == [0, 1]
    assert found.of_clip("c") == []
    assert found.of_clip("a")[0].comment == "na\u00efve \ud800"
    assert found.of_clip("a")[0].average == 2.0


def test_the_last_word_counts_and_an_unscored_one_is_not_done(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with JudgementWriter(path, HEADER) as output:
        output.write(unscored("a", 0, "refused"), judged("a", 1))
        assert output.done == {("a", 1)}
    with JudgementWriter(path, HEADER) as output:
        assert output.done == {("a", 1)}
        output.write(judged("a", 0))
        assert output.done == {("a", 0), ("a", 1)}
    assert [one.state for one in read_judgements(path).of_clip("a")] == ["judged", "judged"]


def test_a_finished_file_is_in_order_with_one_line_each(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    keys = [("a", 0), ("a", 1), ("b", None)]
    clip = judged("b", 0, segment=None, weight=2)
    with JudgementWriter(path, HEADER) as output:
        output.write(clip, unscored("a", 1, "refused"), judged("a", 0), judged("a", 1))
        assert output.put_in_order(keys) == [judged("a", 0), judged("a", 1), clip]
    found = lines(path)
    assert found[0] == {"header": HEADER.model_dump(mode="json")}
    assert [(one["id"], one["segment"]) for one in found[1:]] == [("a", 0), ("a", 1), ("b", None)]
    before = path.stat().st_ino
    with JudgementWriter(path, HEADER) as output:
        output.put_in_order(keys)
        with pytest.raises(ValueError, match=r"has no judgement of \('c', 0\)"):
            output.put_in_order([*keys, ("c", 0)])
    assert path.stat().st_ino == before  # it was in order: nobody touched it


def test_another_header_is_refused_by_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    other = HEADER.model_copy(update={"samples": 3, "prompt_hash": "xy"})
    with JudgementWriter(path, HEADER):
        pass
    with JudgementWriter(path, other) as output:  # nothing but a header binds nobody
        output.write(judged("a", 0))
    with pytest.raises(ValueError, match="samples: 3 in the file, 1 now; prompt_hash: 'xy'"):
        JudgementWriter(path, HEADER)
    with JudgementWriter(path, other) as output:
        assert output.done == {("a", 0)}
        with pytest.raises(ValueError, match="another process is writing"):
            JudgementWriter(path, other)


def test_scores_do_not_outlive_what_they_are_of(tmp_path: Path) -> None:
    path = tmp_path / "judge_paper.m.jsonl"
    scores = judge_scores_path(path)
    with JudgementWriter(path, HEADER) as output:
        output.write(judged("a", 0))
    scores.write_text("[]")
    with JudgementWriter(path, HEADER) as output:
        assert scores.exists()  # nothing has changed yet
        output.write(judged("a", 1))
        assert not scores.exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"segment": 0}, "j.jsonl:2: field id"),
        (judged("a", 0).model_dump() | {"overall": 6.0}, "between 0 and 5"),
        (judged("a", 0).model_dump() | {"overall": None}, "overall score stands beside"),
        (judged("a", 0).model_dump() | {"state": "unscored"}, "exactly where"),
        (judged("a", 0).model_dump() | {"scores": {"causal_logic": 1.0}}, "scores for"),
        (judged("a", 0).model_dump() | {"extra": 1}, "field extra"),
        ([1], "an object"),
        ("{broken", "not JSON"),
    ],
)
def test_what_is_no_judgement_is_refused_by_line(tmp_path: Path, line: Any, message: str) -> None:
    path = tmp_path / "j.jsonl"
    text = line if isinstance(line, str) else json.dumps(line)
    path.write_text(json.dumps({"header": HEADER.model_dump()}) + "\n" + text + "\n")
    with pytest.raises(ValueError, match=message):
        read_judgements(path)


def test_a_file_without_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text("")
    with pytest.raises(ValueError, match="is empty"):
        read_judgements(path)
    path.write_text(json.dumps(judged("a", 0).model_dump()) + "\n")
    with pytest.raises(ValueError, match="the first line must be"):
        read_judgements(path)


def test_scores_are_read_back(tmp_path: Path) -> None:
    row = JudgeScoreRow(
        judge="judge_paper",
        model="m",
        dimension="overall",
        mean=None,
        low=None,
        high=None,
        num_judged=0,
        num_gated=0,
        num_unscored=1,
        num_unparsed=2,
        num_missing=3,
    )
    path = tmp_path / "judge_paper.m.scores.json"
    write_judge_scores(path, [row])
    assert read_judge_scores(path) == [row]
    path.write_text('[{"judge": "judge_paper"}]')
    one_field = r"scores\.json: not a list of judge scores: 0\.\w+: Field required$"
    with pytest.raises(ValueError, match=one_field):
        read_judge_scores(path)
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"scores\.json: not a list of judge scores"):
        read_judge_scores(path)
