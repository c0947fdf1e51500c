"""Grounding: what was not seen goes back, what stood on it goes with it, and it ends."""

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from affect.llm.chat import Frames, ModelFailure, Question
from affect.llm.scripted_models import ScriptedModels
from data_prep.build.config import DescribeSection, GroundSection
from data_prep.grounder import NO_GROUNDER, Grounder
from data_prep.records import Described, Description, Detection, Grounded, Span
from data_prep.stages.ground import ground
from tests.data_prep.stages.clips import plain_clip


class ScriptedGrounder:
    """Sees what it is told to see, each with a score; everything else with none."""

    name = "scripted_grounder"
    identity = "scripted"

    def __init__(self, scores: dict[str, float]) -> None:
        self.scores = scores
        self.calls: list[tuple[tuple[float, ...], tuple[str, ...]]] = []

    def detect(self, frames: Frames, entities: Sequence[str]) -> tuple[Detection, ...]:
        times = tuple(frame.time_seconds for frame in frames.frames)
        self.calls.append((times, tuple(entities)))
        return tuple(Detection(entity=entity, score=self.scores.get(entity)) for entity in entities)


def described(*entities: Sequence[str]) -> Described:
    times = [2.0 * number for number in range(len(entities) + 1)]
    return Described(
        descriptions=tuple(
            Description(
                span=Span(start_seconds=start, end_seconds=end),
                text="Seen: " + " ".join(names),
                entities=tuple(names),
            )
            for (start, end), names in zip(pairwise(times), entities, strict=True)
        ),
        author="scripted_describe",
    )


def reply(*entities: str) -> str:
    return json.dumps({"description": "Now: " + " ".join(entities), "entities": entities})


def never(question: Question) -> str:
    raise AssertionError("nobody may be asked")


def run(
    folder: Path,
    record: Described,
    grounder: Grounder,
    answer: Callable[[Question], str],
    max_rewrites: int = 2,
) -> tuple[Grounded, ScriptedModels]:
    models = ScriptedModels(lambda role, question, num_ask: answer(question), max_asks=1)
    grounded = asyncio.run(
        ground.function(
            plain_clip(folder, record.descriptions[-1].span.end_seconds),
            record,
            GroundSection(max_frames=2, max_rewrites=max_rewrites),
            DescribeSection(max_frames=3),
            grounder,
            models,
        )
    )
    assert isinstance(grounded, Grounded)
    return grounded, models


def test_without_a_grounder_nothing_is_claimed(tmp_path: Path) -> None:
    record = described(["bird"], ["dog"])
    grounded, _ = run(tmp_path, record, NO_GROUNDER, never)
    assert grounded == Grounded(descriptions=record.descriptions, checks=(), grounder=None)


def test_what_is_seen_passes(tmp_path: Path) -> None:
    record = described(["bird", "wet sand"], ["dog"])
    grounder = ScriptedGrounder({"bird": 0.3, "wet sand": 0.9, "dog": 0.31})
    grounded, _ = run(tmp_path, record, grounder, never)
    assert grounded.descriptions == record.descriptions
    assert grounded.grounder == "scripted_grounder"
    assert grounded.rejection is None
    assert grounder.calls == [((0.0, 1.75), ("bird", "wet sand")), ((2.0, 3.75), ("dog",))]
    assert [(c.segment, c.rewrite, c.ungrounded) for c in grounded.checks] == [
        (0, 0, ()),
        (1, 0, ()),
    ]
    assert grounded.checks[0].detections[1] == Detection(entity="wet sand", score=0.9)


def test_waiting_for_the_detector_takes_no_thread_from_others(tmp_path: Path) -> None:
    """Replies are kept and read in the loop's threads while videos queue for the detector."""
    others_had_a_thread = threading.Event()

    class Busy(ScriptedGrounder):
        def detect(self, frames: Frames, entities: Sequence[str]) -> tuple[Detection, ...]:
            assert others_had_a_thread.wait(20)
            return super().detect(frames, entities)

    async def main() -> list[Grounded]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        models = ScriptedModels(lambda role, question, num_ask: never(question))
        given = (described(["bird"]), GroundSection(), DescribeSection(), Busy({"bird": 1}), models)
        grounding = [
            asyncio.ensure_future(ground.function(plain_clip(tmp_path, 2.0), *given))
            for _ in range(4)
        ]
        await asyncio.sleep(0)
        await asyncio.to_thread(others_had_a_thread.set)
        return await asyncio.gather(*grounding)

    assert [record.rejection for record in asyncio.run(main())] == [None] * 4


def test_what_is_not_seen_goes_back(tmp_path: Path) -> None:
    grounder = ScriptedGrounder({"bird": 0.5, "ball": 0.299})
    grounded, models = run(
        tmp_path, described(["bird", "ball", "cat"]), grounder, lambda question: reply("bird")
    )
    assert [description.text for description in grounded.descriptions] == ["Now: bird"]
    assert [(c.segment, c.rewrite, c.ungrounded) for c in grounded.checks] == [
        (0, 0, ("ball", "cat")),
        (0, 1, ()),
    ]
    ((role, question),) = models.questions
    assert (role, question.name, question.seed) == ("describe", "describe", 1)
    text = str(question.parts[-1])
    assert 'What was written, in quotes: "Seen: bird ball cat"' in text
    assert 'Not found: "ball", "cat".' in text
    assert isinstance(question.parts[2], Frames) and len(question.parts[2].frames) == 3
    assert "D_0, the description of the segment before it: empty" in str(question.parts[0])


def test_what_stood_on_it_is_written_anew(tmp_path: Path) -> None:
    grounder = ScriptedGrounder({"bird": 0.5, "dog": 0.5, "cow": 0.5, "sand": 0.5})

    def answer(question: Question) -> str:
        prompt = str(question.parts[0])
        if "segment S_2" in prompt:
            return reply("dog")
        assert "segment S_3" in prompt, prompt
        assert 'before it: "Now: dog"' in prompt
        assert len(question.parts) == 3 and question.seed == 0
        return reply("sand")

    record = described(["bird"], ["dog", "ghost"], ["cow"])
    grounded, models = run(tmp_path, record, grounder, answer)
    assert [one.text for one in grounded.descriptions] == ["Seen: bird", "Now: dog", "Now: sand"]
    assert [(c.segment, c.rewrite, c.ungrounded) for c in grounded.checks] == [
        (0, 0, ()),
        (1, 0, ("ghost",)),
        (1, 1, ()),
        (2, 0, ()),
    ]
    assert len(models.questions) == 2
    assert 'before it: "Seen: bird"' in str(models.questions[0][1].parts[0])


@pytest.mark.parametrize("max_rewrites", [0, 1, 3])
def test_one_who_always_invents_is_rejected(tmp_path: Path, max_rewrites: int) -> None:
    record = described(["bird"], ["ghost"], ["dog"])
    grounder = ScriptedGrounder({"bird": 0.5, "dog": 0.5})
    grounded, models = run(
        tmp_path, record, grounder, lambda question: reply("ghost"), max_rewrites
    )
    assert grounded.rejection == "ungrounded"
    assert [one.entities for one in grounded.descriptions] == [("bird",), ("ghost",)]
    assert [check.rewrite for check in grounded.checks] == [0, *range(max_rewrites + 1)]
    assert grounded.checks[-1].ungrounded == ("ghost",)
    assert [question.seed for _, question in models.questions] == [*range(1, max_rewrites + 1)]


def test_a_failure_of_the_author_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ModelFailure):
        run(tmp_path, described(["ghost"]), ScriptedGrounder({}), lambda question: "")
