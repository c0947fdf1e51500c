"""The gate before any call: what is asked about, and what is worth 0."""

from pathlib import Path

from evaluation.clips import load_clips, read_truths
from evaluation.judge.hardened import HARDENED
from evaluation.judge.judge import Judge
from evaluation.judge.paper import PAPER
from evaluation.judge.plan import Plan, plan_judging
from evaluation.predictions import read_predictions
from tests.evaluation.judge.judged_runs import GOOD, reply_text, write_run

REPLIES = {
    "whole": [(0.0, 2.0, "Joy", GOOD), (2.0, 4.0, "Fear", GOOD)],
    "bare": [(0.0, 2.0, "Joy", "The viewer feels joy because"), (2.0, 4.0, "Fear", GOOD)],
    "blank": '{"segments": [{"start_time": 0, "end_time": 4, "emotion": "Joy", "reason": "..."}]}',
    "fenced": "```json\n" + reply_text([(0.0, 4.0, "Bliss", GOOD)]) + "\n```",
    "prose": "They are happy.",
    "none": None,
}


def plan(folder: Path, judge: Judge) -> Plan:
    run = write_run(folder, REPLIES, with_clips=())
    truths = read_truths(folder / "rows.jsonl")
    predictions = read_predictions(run / "predictions" / "test.jsonl")
    return plan_judging(judge, truths, load_clips(truths, predictions))


def test_hardened(tmp_path: Path) -> None:
    found = plan(tmp_path, HARDENED)
    assert [(one.row.id, one.asked) for one in found.work] == [("whole", (0, 1)), ("bare", (1,))]
    assert [(one.id, one.segment, one.weight) for one in found.gated] == [
        ("bare", 0, 1), ("blank", None, 2), ("fenced", None, 2), ("prose", None, 2),
        ("none", None, 2),
    ]  # fmt: skip
    assert {value for one in found.gated for value in (one.scores or {}).values()} == {0.0}
    assert (found.num_unparsed, found.num_missing, found.num_asked) == (3, 1, 3)
    assert found.keys == (
        ("whole", 0), ("whole", 1), ("bare", 0), ("bare", 1), ("blank", None), ("fenced", None),
        ("prose", None), ("none", None),
    )  # fmt: skip
    why = {one.id: one.why for one in found.gated}
    assert why["bare"] == "says nothing of the clip: 0 content words, 3 are needed"
    assert why["blank"] == "no strict timeline: blank_reason: segments[0] gives no reason"
    assert why["none"] == "missing: there is no reply"
    assert len(found.work[1].segments) == 2  # what came before is shown, gated or not


def test_paper_reads_what_can_be_read_and_gives_the_rest_0(tmp_path: Path) -> None:
    found = plan(tmp_path, PAPER)
    assert [(one.row.id, one.asked) for one in found.work] == [
        ("whole", (0, 1)), ("bare", (1,)), ("fenced", (0,)),
    ]  # fmt: skip
    assert [(one.id, one.segment, one.weight, one.why) for one in found.gated] == [
        ("bare", 0, 1, "says nothing of the clip: 0 content words, 3 are needed"),
        ("blank", 0, 1, "no letter in the reason"),
        ("prose", None, 2,
         'no segment: no_object: the reply holds no complete JSON object with "segments"'),
        ("none", None, 2, "missing: there is no reply"),
    ]  # fmt: skip
    assert (found.num_unparsed, found.num_missing) == (1, 1)
    assert found.work[2].segments[0].emotion == "Bliss"  # as written


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    found = plan(tmp_path, HARDENED).without({("whole", 0), ("bare", 1), ("blank", None)})
    assert [(one.row.id, one.asked) for one in found.work] == [("whole", (1,))]
    assert len(found.work[0].segments) == 2
    assert [one.id for one in found.gated] == ["bare", "fenced", "prose", "none"]
    assert len(found.keys) == 8
