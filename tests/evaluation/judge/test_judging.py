"""The loop over clips with models whose replies a function writes: what is asked, what is kept."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from affect.llm.chat import BudgetSpentError, FailureKind, ModelFailure, Question, VideoFile
from affect.llm.scripted_models import ScriptedModels
from affect.messages import prompt_from_text
from affect.row import Row
from affect.timeline import Segment
from evaluation.judge.hardened import HARDENED
from evaluation.judge.judge import Judge
from evaluation.judge.judgements import SegmentJudgement
from evaluation.judge.judging import Judging
from evaluation.judge.paper import PAPER
from evaluation.judge.plan import ClipWork
from tests.affect.llm.replies import frames

FIVE = ("visual_grounding", "causal_logic", "viewer_centricity", "temporal_consistency",
        "answer_consistency")  # fmt: skip
Answer = Callable[[str, Question, int], str]


def reply(overall: Any, comment: str = "seen", key: str = "comment", **changes: Any) -> str:
    """All dimensions get the overall score, but for changes; None leaves one out."""
    value = {key: comment, **dict.fromkeys(FIVE, overall), "score": overall, **changes}
    return json.dumps({name: one for name, one in value.items() if one != "absent"})


def work(clip: str, num: int = 1) -> ClipWork:
    row = Row(
        id=clip,
        video=f"{clip}.mp4",
        duration_seconds=float(num),
        source=None,
        prompt=prompt_from_text("<video>\nSegment."),
        timeline=None,
    )
    segments = [Segment(place, place + 1, "Joy", f"reason {place}") for place in range(num)]
    return ClipWork(row, segments, tuple(range(num)))


def show(row: Row) -> VideoFile:
    return VideoFile("cd" * 32, Path(row.video), "video/mp4", frames(0.0, 0.5))


def judge_all(
    answer: Answer,
    *works: ClipWork,
    judge: Judge = HARDENED,
    samples: int = 1,
    num_clips_at_once: int = 2,
    shown: Callable[[Row], VideoFile] = show,
    max_failures_in_a_row: int = 20,
) -> tuple[dict[tuple[str, int | None], SegmentJudgement], Judging, list[Question]]:
    found: dict[tuple[str, int | None], SegmentJudgement] = {}
    judging = Judging(
        judge,
        shown,
        samples=samples,
        max_tokens=300,
        max_failures_in_a_row=max_failures_in_a_row,
    )

    def on_judged(one: SegmentJudgement) -> None:
        assert (one.id, one.segment) not in found
        found[one.id, one.segment] = one

    models = ScriptedModels(answer, max_asks=2)
    asyncio.run(judging.run(models, works, on_judged, num_clips_at_once=num_clips_at_once))
    return found, judging, [question for _, question in models.questions]


def test_a_question_shows_the_clip_and_then_the_prompt() -> None:
    found, judging, questions = judge_all(lambda *_: reply(4), work("a", 2))
    assert [(one.state, one.overall) for one in found.values()] == [("judged", 4.0)] * 2
    line, video, prompt = questions[1].parts
    assert line == (
        "The clip, as a video, or else as 2 pictures at these seconds of the clip: 0.00, 0.50."
    )
    assert isinstance(video, VideoFile)
    assert isinstance(prompt, str)
    assert "The segment: 1.0 to 2.0 s of the clip" in prompt
    assert 'Reason before: "reason 0"' in prompt
    assert (questions[1].name, questions[1].max_tokens, questions[1].seed) == (
        "judge_hardened", 300, 0,
    )  # fmt: skip
    assert judging.ending == "finished"


def test_samples_are_draws_with_seeds_of_their_own() -> None:
    given = {0: 5, 1: 1, 2: 2}

    def answer(role: str, question: Question, num_ask: int) -> str:
        return reply(given[question.seed], comment=f"seed {question.seed}")

    found, _, questions = judge_all(answer, work("a"), samples=3)
    assert sorted(question.seed for question in questions) == [0, 1, 2]
    one = found["a", 0]
    assert (one.overall, one.comment, one.num_samples) == (2.0, "seed 2", 3)


@pytest.mark.parametrize(
    "bad",
    [
        reply(7), reply(-1), reply(4.5), reply(4.0), reply("5"), reply(None), reply(True),
        reply(3, causal_logic="absent"), reply(3, score="absent"), reply(3, comment="absent"),
        reply(3, mean=3), reply(3, comment=5), "5", "[]", "", "  ", "The answer is good: 5/5.",
        f"```json\n{reply(3)}\n```", f"{reply(3)} Hope this helps!", reply(3)[:-1],
        reply(3).replace("3,", "NaN,"), '{"comment": "a", ' + reply(3)[1:],
    ],
    ids=lambda text: text[:40] or "empty",
)  # fmt: skip
def test_what_is_no_reply_is_asked_for_again_and_then_unscored(bad: str) -> None:
    found, _, questions = judge_all(lambda role, question, num_ask: bad, work("a"))
    assert found["a", 0].state == "unscored"
    assert found["a", 0].why.startswith("0 of 1 samples can be used; scripted_judge: ")
    assert len(questions) == 2
    mended, _, _ = judge_all(lambda role, question, num: bad if num == 1 else reply(3), work("a"))
    assert (mended["a", 0].state, mended["a", 0].overall) == ("judged", 3.0)


def test_the_papers_reply_has_keys_of_its_own() -> None:
    def answer(role: str, question: Question, num_ask: int) -> str:
        return reply(2, "said", "brief_comment", temporal_consistency=5)

    found, _, questions = judge_all(answer, work("a"), judge=PAPER)
    assert found["a", 0].comment == "said"
    assert (found["a", 0].scores or {})["temporal_consistency"] == 5.0
    prompt = questions[0].parts[2]
    assert isinstance(prompt, str) and prompt.startswith("You are an expert evaluator")
    assert judge_all(lambda *_: reply(2), work("a"), judge=PAPER)[0]["a", 0].state == "unscored"


def test_a_clip_that_cannot_be_shown_leaves_its_segments_unscored_and_asks_nobody() -> None:
    def broken(row: Row) -> VideoFile:
        if row.id == "a":
            raise ValueError("a.mp4: no picture")
        if row.id == "b":
            raise FileNotFoundError("b.mp4")
        return show(row)

    found, judging, questions = judge_all(
        lambda *_: reply(4), work("a", 2), work("b"), work("c"), shown=broken
    )
    assert [one.state for one in found.values()].count("unscored") == 3
    assert found["a", 1].why == "the clip cannot be shown: a.mp4: no picture"
    assert found["c", 0].state == "judged"
    assert (len(questions), judging.ending) == (1, "finished")


def test_a_spent_budget_ends_the_run_and_keeps_what_is_whole() -> None:
    def answer(role: str, question: Question, num_ask: int) -> str:
        if "reason 1" in str(question.parts[2]) and question.seed == 1:
            raise BudgetSpentError("1.0 of limits.max_cost (1) is spent")
        return reply(4)

    found, judging, _ = judge_all(
        answer, work("a", 2), *(work(str(place)) for place in range(5)), samples=2,
        num_clips_at_once=1,
    )  # fmt: skip
    assert list(found) == [("a", 0)]
    assert judging.ending == "budget_spent"
    assert judging.reason == "1.0 of limits.max_cost (1) is spent"
    with pytest.raises(Exception, match=r"max_cost \(1\)"):
        judging.check()


def test_a_dead_server_ends_the_run() -> None:
    def answer(role: str, question: Question, num_ask: int) -> str:
        raise ModelFailure("connection", "judge", "nobody listens")

    found, judging, questions = judge_all(
        answer, *(work(str(place)) for place in range(9)), max_failures_in_a_row=3,
        num_clips_at_once=1,
    )  # fmt: skip
    assert judging.ending == "gave_up"
    assert judging.reason.startswith("3 segments in a row failed, the last with judge: connection")
    assert len(found) == len(questions) == 3


@pytest.mark.parametrize("kind", ["not_allowed", "not_found"])
def test_nobody_let_in_is_the_end_before_anything_is_said_of_a_segment(kind: FailureKind) -> None:
    def answer(role: str, question: Question, num_ask: int) -> str:
        raise ModelFailure(kind, "judge", "no such thing")

    works = [work(str(place)) for place in range(9)]
    found, judging, questions = judge_all(answer, *works, num_clips_at_once=1)
    assert (judging.ending, judging.reason) == ("turned_away", f"judge: {kind}: no such thing")
    assert (len(found), len(questions)) == (0, 1)


def test_refusals_are_no_dead_server() -> None:
    def answer(role: str, question: Question, num_ask: int) -> str:
        raise ModelFailure("refused", "judge", "not that")

    works = [work(str(place)) for place in range(9)]
    found, judging, _ = judge_all(answer, *works, max_failures_in_a_row=3)
    assert (judging.ending, len(found)) == ("finished", 9)


def test_our_own_mistakes_are_not_swallowed() -> None:
    def answer(role: str, question: Question, num_ask: int) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        judge_all(answer, work("a"), work("b"))
