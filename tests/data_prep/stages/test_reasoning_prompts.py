"""What reasoner and judges are asked is frozen, whole: a changed prompt shows here.

`python -m tests.data_prep.stages.test_reasoning_prompts` writes the snapshots anew.
"""

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from affect.llm.scripted_models import ScriptedModels
from data_prep.build.config import JudgeSection, ReasonSection
from data_prep.records import Candidates, Round
from data_prep.stages.decide import rewrite
from data_prep.stages.judge import judge_question
from data_prep.stages.reason import Reasoner
from tests.data_prep.stages.scripted_reasoning import (
    make_clip,
    make_judgement,
    make_reasoning,
    reason_reply,
    texts_of,
)

FOLDER = Path(__file__).parents[2] / "affect" / "snapshots"
SEGMENTS = (
    make_reasoning(0, "Fear", 'A shadow, "huge", nears.'),
    make_reasoning(1, "Relief", "It was a cat."),
)
RATED = Candidates(emotions=("Fear", "Relief", "Joy"))


def render(clip_folder: Path) -> dict[str, str]:
    """Name of a snapshot -> its text."""
    clip = make_clip(clip_folder)
    section = ReasonSection(min_words=1)
    models = ScriptedModels(lambda role, question, num_ask: _four_pairs())

    def reasoner(candidates: Candidates, settings: ReasonSection = section) -> Reasoner:
        return Reasoner(clip, candidates, settings, models)

    async def ask_all() -> None:
        first, second = SEGMENTS
        low = (make_judgement("one", 2), make_judgement("two", [3, 3, 3, 3, 4]))
        await reasoner(Candidates()).segment(first.span, first.description, None)
        await reasoner(RATED).segment(second.span, second.description, first)
        free = section.model_copy(update={"candidates": "open"})
        await reasoner(RATED, free).segment(second.span, second.description, first)
        await reasoner(RATED).joined(first, second, None)
        judged = Round(segments=SEGMENTS, judgements=(low, low), failed_segments=(1,))
        await rewrite(reasoner(Candidates()), judged, seed=1)

    asyncio.run(ask_all())
    names = ("reason_first", "reason", "reason_open", "reason_merged", "reason_feedback")
    asked = [texts_of(question) for _, question in models.questions]
    texts = dict(zip(names, asked[:5], strict=True))
    for index, name in enumerate(("judge_first", "judge")):
        texts[name] = texts_of(judge_question(clip, SEGMENTS, index, JudgeSection()))
    return {f"build_{name}": text + "\n" for name, text in texts.items()}


def _four_pairs() -> str:
    two = json.loads(reason_reply("Joy"))
    two["pairs"] += [pair | {"reason": f"Or so: {pair['reason']}"} for pair in two["pairs"]]
    return json.dumps(two)


NAMES = (
    "build_reason_first", "build_reason", "build_reason_open", "build_reason_merged",
    "build_reason_feedback", "build_judge_first", "build_judge",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_snapshot(tmp_path: Path, name: str) -> None:
    text = render(tmp_path)[name]
    assert text == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert "$" not in text


def test_all_are_frozen(tmp_path: Path) -> None:
    assert tuple(render(tmp_path)) == NAMES


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        for name, text in render(Path(folder)).items():
            (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")
