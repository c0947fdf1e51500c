"""Proposing: what is asked, what is accepted to the tenth of a second, what is refused and why."""

import asyncio
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from affect.llm.chat import ModelFailure, Question, VideoFile
from affect.llm.scripted_models import ScriptedModels
from affect.taxonomy import DAR_EMOTIONS
from data_prep.build.config import ProposeSection
from data_prep.records import Proposed, StageFailure
from data_prep.stages.propose import ProposedSegment, check_times, propose, spans_of
from tests.data_prep.stages.clips import looked_at, plain_clip

Times = Sequence[tuple[float, float]]


def reply(times: Times, events: Sequence[str] | None = None) -> str:
    segments = [
        {
            "start_seconds": start,
            "end_seconds": end,
            "event": events[number] if events else f"Event number {number} is seen.",
        }
        for number, (start, end) in enumerate(times)
    ]
    return json.dumps({"segments": segments})


def run(
    folder: Path,
    replies: Sequence[str],
    duration: float = 5.28,
    section: ProposeSection | None = None,
) -> tuple[Proposed, ScriptedModels]:
    models = ScriptedModels(lambda role, question, num_ask: replies[num_ask - 1], len(replies))
    clip, looked = plain_clip(folder, duration), looked_at(duration)
    record = asyncio.run(
        propose.function(looked, clip, section or ProposeSection(max_frames=4), models)
    )
    assert isinstance(record, Proposed)
    return record, models


def reason_of(folder: Path, text: str, duration: float = 5.28) -> str:
    with pytest.raises(ModelFailure) as failure:
        run(folder, [text], duration)
    assert failure.value.kind == "off_schema"
    return failure.value.detail


def test_spans_are_exact(tmp_path: Path) -> None:
    record, models = run(tmp_path, [reply([(0.0, 3.2), (3.2, 5.3)], ["A bird. ", "It flies."])])
    assert [(s.start_seconds, s.end_seconds, s.event) for s in record.spans] == [
        (0.0, 3.2, "A bird."),
        (3.2, 5.28, "It flies."),
    ]
    assert record.author == "scripted_propose"
    assert record.rejection is None
    assert len(models.questions) == 1


def test_what_is_asked(tmp_path: Path) -> None:
    _, models = run(tmp_path, [reply([(0.0, 5.3)])])
    role, question = models.questions[0]
    assert (role, question.name, question.max_tokens) == ("propose", "propose", 2048)
    prompt, line, video = question.parts
    assert isinstance(prompt, str) and isinstance(line, str) and isinstance(video, VideoFile)
    assert "silent video of 5.3 seconds" in prompt and "The last ends at 5.3." in prompt
    assert "at least 0.4 seconds. At most 32 segments." in prompt
    assert "$" not in prompt
    assert line.startswith("The clip, as a video, or else as 4 pictures")
    assert line.endswith("0.00, 1.75, 3.25, 5.00.")
    assert len(video.frames.frames) == 4


def test_no_emotion_is_given(tmp_path: Path) -> None:
    _, models = run(tmp_path, [reply([(0.0, 5.3)])])
    text = "".join(part for part in models.questions[0][1].parts if isinstance(part, str))
    for emotion in DAR_EMOTIONS:
        assert emotion not in text
        assert emotion.lower() not in text.lower().split()


@pytest.mark.parametrize("event", ["Fear", "awe (or wonder)", "Awe.", "  'JOY' ", "Sexual Desire!"])
def test_an_emotion_is_no_event(tmp_path: Path, event: str) -> None:
    reason = reason_of(tmp_path, reply([(0.0, 2.0), (2.0, 5.3)], ["A dog barks.", event]))
    assert "segments[1].event is the name of an emotion" in reason


def test_there_is_no_place_for_an_emotion(tmp_path: Path) -> None:
    segment = {"start_seconds": 0.0, "end_seconds": 5.3, "event": "A dog.", "emotion": "Fear"}
    assert "emotion" in reason_of(tmp_path, json.dumps({"segments": [segment]}))


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ([(0.1, 5.3)], r"segments\[0\] starts at 0.1; it must start at 0.0"),
        ([(0.0, 5.0)], r"segments\[0\] ends at 5; .* with the clip, at 5.3"),
        ([(0.0, 5.4)], r"segments\[0\] ends at 5.4"),
        ([(0.0, 2.0), (2.1, 5.3)], r"segments\[1\] starts at 2.1, but segments\[0\] ends at 2;"),
        ([(0.0, 2.0), (1.9, 5.3)], r"segments\[1\] starts at 1.9, but"),
        ([(0.0, 0.3), (0.3, 5.3)], r"segments\[0\], from 0 to 0.3, is shorter than 0.4 s"),
        ([(0.0, 4.9), (4.9, 5.3)], r"segments\[1\], from 4.9 to 5.28, is shorter"),
        ([(0.0, 3.0), (3.0, 2.0), (2.0, 5.3)], r"segments\[1\], from 3 to 2, is shorter"),
        ([(0.0, 5.3), (5.3, 5.3)], "shorter"),
        ([], "segments: .* at least 1"),
    ],
)
def test_refused_times(tmp_path: Path, times: Times, reason: str) -> None:
    detail = reason_of(tmp_path, reply(times))
    assert re.search(reason, detail), detail


@pytest.mark.parametrize(
    "text",
    [
        reply([(0.0, 5.3)], ["   . "]),
        reply([(0.0, 5.3)], [""]),
        '{"segments": [{"start_seconds": "0.0", "end_seconds": 5.3, "event": "A dog."}]}',
        '{"segments": [{"start_seconds": NaN, "end_seconds": 5.3, "event": "A dog."}]}',
        '{"segments": [{"start_seconds": 0, "end_seconds": 1e999, "event": "A dog."}]}',
        '{"segments": [{"start_seconds": 0.0, "event": "A dog."}]}',
        '{"segments": "none"}',
        "The video shows a dog.",
    ],
)
def test_refused_shapes(tmp_path: Path, text: str) -> None:
    reason_of(tmp_path, text)


def test_the_tolerance_is_half_a_decimal(tmp_path: Path) -> None:
    record, _ = run(tmp_path, [reply([(0.05, 2.0), (2.05, 5.33)])])
    assert [(s.start_seconds, s.end_seconds) for s in record.spans] == [(0.0, 2.05), (2.05, 5.28)]
    reason_of(tmp_path, reply([(0.06, 5.3)]))
    reason_of(tmp_path, reply([(0.0, 5.34)]))


def test_asked_again_with_the_reason(tmp_path: Path) -> None:
    record, models = run(tmp_path, [reply([(0.0, 4.0)]), reply([(0.0, 5.3)])])
    assert len(record.spans) == 1
    last: Question = models.questions[1][1]
    assert "must end with the clip, at 5.3" in str(last.parts[-1])


def test_too_many_segments(tmp_path: Path) -> None:
    section = ProposeSection(max_frames=2, max_segments=2)
    times = [(0.0, 1.0), (1.0, 2.0), (2.0, 5.3)]
    with pytest.raises(ModelFailure, match="3 segments are too many; at most 2"):
        run(tmp_path, [reply(times)], section=section)


def test_a_clip_that_no_segment_fits_in(tmp_path: Path) -> None:
    with pytest.raises(StageFailure, match=r"too_short: the clip lasts 0.300 s") as failure:
        run(tmp_path, [reply([(0.0, 0.3)])], duration=0.3)
    assert failure.value.kind == "too_short"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.floats(0.5, 60),
    st.lists(st.tuples(st.floats(0, 60), st.floats(0, 60, exclude_min=True)), min_size=1),
)
def test_any_times_are_refused_or_good(duration: float, times: list[tuple[float, float]]) -> None:
    segments = [
        ProposedSegment(start_seconds=start, end_seconds=end, event="A dog.")
        for start, end in times
    ]
    try:
        check_times(segments, duration)
    except ValueError:
        return
    spans = spans_of(segments, duration)
    assert spans[0].start_seconds == 0.0 and spans[-1].end_seconds == duration
    for span in spans:
        assert span.end_seconds - span.start_seconds >= 0.4 - 1e-6


@given(st.integers(50, 2000).map(lambda number: number / 100), st.data())
def test_honest_times_in_one_decimal_are_accepted(duration: float, data: st.DataObject) -> None:
    end = round(duration, 1)
    steps = round(end * 10)
    inner: list[int] = []
    for step in sorted(data.draw(st.sets(st.integers(4, max(4, steps - 5)), max_size=5))):
        if step - (inner[-1] if inner else 0) >= 4 and steps - step >= 5:
            inner.append(step)
    times = [0.0, *(step / 10 for step in inner), end]
    segments = [
        ProposedSegment(start_seconds=start, end_seconds=stop, event="A dog.")
        for start, stop in pairwise(times)
    ]
    check_times(segments, duration)
    assert len(spans_of(segments, duration)) == len(inner) + 1
