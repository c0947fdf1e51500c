"""Verifying: who is asked about, what follows from each answer, and that it always ends."""

import asyncio
import json
import random
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from affect.llm.chat import Frames, ModelFailure, Question
from affect.llm.scripted_models import ScriptedModels
from data_prep.build.config import VerifySection
from data_prep.records import Snapped, Span, Verified
from data_prep.stages.verify import verify
from tests.data_prep.stages.clips import looked_at, plain_clip

WHERE = re.compile(r"of it, (S_\d+), from ([\d.]+) to ([\d.]+) seconds")


def where(question: Question) -> tuple[str, float, float]:
    found = WHERE.search(str(question.parts[0]))
    assert found
    return found.group(1), float(found.group(2)), float(found.group(3))


def reply(verdict: str, *split: float) -> str:
    return json.dumps({"reason": "It is seen.", "verdict": verdict, "split_seconds": split})


def run(
    folder: Path,
    times: Sequence[float],
    cuts: Sequence[float],
    answer: Callable[[Question, int], str],
    max_depth: int = 2,
    max_asks: int = 1,
) -> tuple[Verified, ScriptedModels]:
    spans = tuple(
        Span(start_seconds=start, end_seconds=end, event=f"e{number}")
        for number, (start, end) in enumerate(pairwise(times))
    )
    models = ScriptedModels(lambda role, question, num_ask: answer(question, num_ask), max_asks)
    record = asyncio.run(
        verify.function(
            looked_at(times[-1], cuts),
            plain_clip(folder, times[-1]),
            Snapped(spans=spans, snaps=()),
            VerifySection(max_frames=2, max_depth=max_depth),
            models,
        )
    )
    assert isinstance(record, Verified)
    return record, models


def planned(plan: dict[tuple[float, float], str]) -> Callable[[Question, int], str]:
    return lambda question, num_ask: plan[where(question)[1:]]


def times_of(record: Verified) -> list[float]:
    return [0.0, *(span.end_seconds for span in record.spans)]


def never(question: Question, num_ask: int) -> str:
    raise AssertionError("nobody may be asked")


def test_nobody_is_asked_between_cuts(tmp_path: Path) -> None:
    record, models = run(tmp_path, [0.0, 3.0, 6.0, 8.0], [3.0, 6.0], never)
    assert record.author is None and record.checks == () and models.questions == []
    assert times_of(record) == [0.0, 3.0, 6.0, 8.0]
    record, _ = run(tmp_path, [0.0, 8.0], [], never)
    assert record.author is None


def test_only_spans_beside_a_boundary_without_a_cut(tmp_path: Path) -> None:
    answer = lambda question, num_ask: reply("complete")  # noqa: E731
    record, models = run(tmp_path, [0.0, 2.0, 4.0, 6.0, 8.0], [2.0, 6.0], answer)
    assert [where(question) for _, question in models.questions] == [
        ("S_2", 2.0, 4.0),
        ("S_3", 4.0, 6.0),
    ]
    assert record.author == "scripted_verify"
    assert [check.verdict for check in record.checks] == ["complete", "complete"]
    assert [check.depth for check in record.checks] == [0, 0]
    assert times_of(record) == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_what_is_asked(tmp_path: Path) -> None:
    answer = lambda question, num_ask: reply("complete")  # noqa: E731
    _, models = run(tmp_path, [0.0, 3.2, 8.0], [1.0, 5.03], answer)
    role, question = models.questions[0]
    assert (role, question.name, question.max_tokens) == ("verify", "verify", 512)
    prompt, line, frames = question.parts
    assert isinstance(frames, Frames)
    assert [frame.time_seconds for frame in frames.frames] == [0.0, 3.0]
    assert line == "S_1, as 2 pictures at these seconds of the clip: 0.00, 3.00."
    assert "- before S_1: nothing; the clip begins here" in str(prompt)
    assert 'is a part of): "e0"' in str(prompt)
    assert '- after S_1: "e1"' in str(prompt)
    assert "Visual cuts inside S_1, in seconds: 1.0." in str(prompt)
    assert "- after S_2: nothing; the clip ends here" in str(models.questions[1][1].parts[0])
    assert "Visual cuts inside S_2, in seconds: 5.0." in str(models.questions[1][1].parts[0])
    assert "$" not in str(prompt)


def test_split_and_looked_at_again(tmp_path: Path) -> None:
    plan = {
        (0.0, 4.0): reply("split", 2.5),
        (0.0, 2.5): reply("complete"),
        (2.5, 4.0): reply("complete"),
        (4.0, 8.0): reply("complete"),
    }
    record, models = run(tmp_path, [0.0, 4.0, 8.0], [], planned(plan))
    assert times_of(record) == [0.0, 2.5, 4.0, 8.0]
    assert [span.event for span in record.spans] == ["e0", "e0", "e1"]
    assert [check.depth for check in record.checks] == [0, 1, 1, 0]
    assert record.checks[0].split_seconds == (2.5,)
    assert [where(question)[1] for _, question in models.questions] == [0.0, 0.0, 2.5, 4.0]


def test_merge_takes_in_what_was_complete(tmp_path: Path) -> None:
    plan = {
        (0.0, 2.0): reply("complete"),
        (2.0, 4.0): reply("merge_before"),
        (0.0, 4.0): reply("complete"),
        (4.0, 8.0): reply("complete"),
    }
    record, _ = run(tmp_path, [0.0, 2.0, 4.0, 8.0], [], planned(plan))
    assert times_of(record) == [0.0, 4.0, 8.0]
    assert [span.event for span in record.spans] == ["e0 Then: e1", "e2"]
    assert [check.depth for check in record.checks] == [0, 0, 1, 0]


def test_pieces_of_one_event_join_to_it(tmp_path: Path) -> None:
    plan = {
        (0.0, 4.0): reply("split", 2.0),
        (0.0, 2.0): reply("merge_after"),
        (4.0, 8.0): reply("complete"),
    }
    record, _ = run(tmp_path, [0.0, 4.0, 8.0], [], planned(plan))
    assert [(span.end_seconds, span.event) for span in record.spans] == [(4.0, "e0"), (8.0, "e1")]


def test_a_split_in_one_decimal_means_the_cut(tmp_path: Path) -> None:
    plan = {
        (0.0, 4.0): reply("split", 2.0),
        (2.0, 4.0): reply("complete"),
        (4.0, 8.0): reply("complete"),
    }
    record, models = run(tmp_path, [0.0, 4.0, 8.0], [2.033], planned(plan))
    assert times_of(record) == [0.0, 2.033, 4.0, 8.0]
    # The first piece now lies between the clip's begin and a cut: nothing to ask.
    assert [where(question)[1] for _, question in models.questions] == [0.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (reply("split"), "exactly where the verdict is split"),
        (reply("complete", 2.0), "exactly where the verdict is split"),
        (reply("merge_before"), "merge_before is not possible"),
        (reply("split", 0.3), "at least 0.4 s on either side"),
        (reply("split", 3.7), "at least 0.4 s on either side"),
        (reply("split", 3.0, 2.0), "must ascend within 0.0 to 4.0"),
        (reply("split", 2.0, 2.3), "at least 0.4 s on either side"),
        (reply("split", 5.0), "must ascend within 0.0 to 4.0"),
        (reply("divide"), "verdict"),
        (reply("split", *[0.4 * n for n in range(1, 10)]), "split_seconds"),
    ],
)
def test_refused_answers(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(ModelFailure) as failure:
        run(tmp_path, [0.0, 4.0, 8.0], [], lambda question, num_ask: text)
    assert failure.value.kind == "off_schema"
    assert reason in failure.value.detail


def test_the_last_has_nothing_after_it(tmp_path: Path) -> None:
    plan = {(0.0, 4.0): reply("complete"), (4.0, 8.0): reply("merge_after")}
    with pytest.raises(ModelFailure, match="merge_after is not possible"):
        run(tmp_path, [0.0, 4.0, 8.0], [], planned(plan))


def test_no_depth_asks_nobody(tmp_path: Path) -> None:
    record, _ = run(tmp_path, [0.0, 4.0, 8.0], [], never, max_depth=0)
    assert record.author is None


@pytest.mark.parametrize("max_depth", [1, 2, 3])
def test_one_who_always_splits_is_stopped(tmp_path: Path, max_depth: int) -> None:
    def answer(question: Question, num_ask: int) -> str:
        _, start, end = where(question)
        middle = round((start + end) / 2, 1)
        return reply("split", middle) if end - start >= 1.0 else reply("complete")

    record, _ = run(tmp_path, [0.0, 8.0, 16.0], [], answer, max_depth)
    assert len(record.spans) == 2 * 2**max_depth
    assert len(record.checks) == 2 * (2**max_depth - 1)


@pytest.mark.parametrize("max_depth", [1, 2, 8])
def test_one_who_always_merges_is_stopped(tmp_path: Path, max_depth: int) -> None:
    def answer(question: Question, num_ask: int) -> str:
        return reply("merge_after" if where(question)[1] == 0.0 else "merge_before")

    record, _ = run(tmp_path, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [], answer, max_depth)
    assert times_of(record)[-1] == 5.0
    assert len(record.checks) <= 4  # each takes one boundary away


def hostile(seed: int) -> Callable[[Question, int], str]:
    """Any answer that is allowed, at random: a split anywhere, or a merge."""
    chance = random.Random(seed)

    def answer(question: Question, num_ask: int) -> str:
        _, start, end = where(question)
        text = str(question.parts[0])
        merges = ["merge_before"] if "begins here" not in text else []
        merges += ["merge_after"] if "ends here" not in text else []
        verdicts = [*merges, "complete"] + (["split"] * 3 if end - start >= 1.2 else [])
        verdict = chance.choice(verdicts)
        if verdict != "split":
            return reply(verdict)
        step = chance.randrange(round(start * 10) + 5, round(end * 10) - 5)
        return reply("split", step / 10)

    return answer


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 2**32),
    inner=st.sets(st.integers(1, 11), max_size=6),
    cuts=st.sets(st.integers(1, 11), max_size=4),
    max_depth=st.integers(0, 4),
)
def test_it_ends_and_covers_the_clip(
    tmp_path: Path, seed: int, inner: set[int], cuts: set[int], max_depth: int
) -> None:
    times = [0.0, *map(float, sorted(inner)), 12.0]
    found: list[Any] = []
    for _ in range(2):
        record, models = run(tmp_path, times, sorted(cuts), hostile(seed), max_depth)
        found.append((record, [question for _, question in models.questions]))
    assert found[0] == found[1]
    record = found[0][0]
    ends = times_of(record)
    assert [span.start_seconds for span in record.spans] == ends[:-1]
    assert ends[-1] == 12.0
    for start, end in pairwise(ends):
        assert end - start >= 0.4 - 1e-6
    assert all(check.depth < max_depth for check in record.checks)
    assert (record.author is None) == (not record.checks)
