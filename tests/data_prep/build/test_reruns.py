"""Changing a prompt, a setting or a model redoes just what depends on it: for every one there is.

Replies here do not depend on what is changed, so records come out equal and only the stages that
read the changed thing themselves run again, once per video.
"""

import asyncio
import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import affect.prompts
from affect.frozen import canonical_json
from affect.llm.chat import Answer, Models, Question, ReplyT
from affect.llm.read_reply import read_reply
from affect.llm.reply import Reply
from affect.prompts import load_prompt, prompt_names
from affect.video import GuardedReader
from data_prep.build.config import BuildConfig
from data_prep.build.engine import Summary, Work, run_all
from data_prep.build.folder import BuildFolder, frames_digest
from data_prep.build.journal import Journal
from data_prep.build.journal_store import JournalStore
from data_prep.build.listing import find_files
from data_prep.build.plan import make_plan
from data_prep.build.run_video import BuildContext, run_video
from data_prep.build.stop import Stop
from data_prep.grounder import NO_GROUNDER
from data_prep.records import Candidates
from data_prep.stages import STAGES
from data_prep.stages.stage import Stage
from tests.data_prep.picture.drawn import pan, write_frames
from tests.data_prep.scripted_answers import answer

ROLES = {"propose": "one", "verify": "two", "describe": "one", "tag": "one", "reason": "one"}
MODELS = ("one", "two", "three")
SHOWN = {"look", "propose", "verify", "describe", "ground", "reason", "judge", "decide"}
"""Stages that are given the clip."""

REASONED = {"reason", "decide"}
JUDGED = {"judge", "decide"}
DESCRIBED = {"describe", "ground"}
ASKING = {"propose", "verify", "tag"} | DESCRIBED | REASONED | JUDGED

SETTINGS: dict[str, tuple[Any, set[str]]] = {
    # The times of the frames stand in the record of `look`, which these two read.
    "picture.frames_fps": (3.0, SHOWN | {"select", "snap"}),
    "picture.frame_side": (64, SHOWN),
    "picture.jpeg_quality": (60, SHOWN),
    "picture.cut_threshold": (28.0, {"look"}),
    "picture.fade_threshold": (11.0, {"look"}),
    "select.min_duration_seconds": (0.9, {"select"}),
    "select.max_static_flow_pixels": (0.05, {"select"}),
    "propose.max_tokens": (999, {"propose"}),
    "snap.window_seconds": (0.49, {"snap"}),
    "verify.max_depth": (1, {"verify"}),
    "describe.max_tokens": (999, DESCRIBED),
    "ground.min_score": (0.4, {"ground"}),
    "ground.weights": ("moved", set()),  # which they are, the grounder says
    "tag.max_tokens": (99, {"tag"}),
    "reason.max_tokens": (999, REASONED),
    "judge.max_tokens": (999, JUDGED),
    "decide.threshold": (3.4, {"decide"}),
    "decide.policy": ("committee", {"decide"}),
    "draft.max_frames": (64, set()),
    "rendered.seed": (1, set()),
    "videos.source": ("elsewhere", set()),
    "limits.max_asks": (2, set()),
    "engine.videos_at_once": (1, set()),
    "export.dev_share": (0.5, set()),
    "seed": (1, set()),
    "models.one.model": ("another", {"propose", "tag"} | DESCRIBED | REASONED),
    "models.two.temperature": (0.5, {"verify"} | JUDGED),
    "models.three.model": ("another", JUDGED),
    "models.one.base_url": ("http://127.0.0.1:2/v1", set()),
    "models.one.max_concurrent": (2, set()),
}

PROMPTS: dict[str, set[str]] = {
    "ask_again": ASKING,
    "build_describe": DESCRIBED,
    "build_describe_again": {"ground"},
    "build_judge": JUDGED,
    "build_judge_first": JUDGED,
    "build_judge_history": JUDGED,
    "build_propose": {"propose"},
    "build_reason": REASONED,
    "build_reason_feedback": {"decide"},
    "build_reason_first": REASONED,
    "build_reason_history": REASONED,
    "build_reason_merged": REASONED,
    "build_reason_open": REASONED,
    "build_reason_strict": REASONED,
    "build_reason_unrated": REASONED,
    "build_tag": {"tag"},
    "build_verify": {"verify"},
    "reply_schema": set(),  # but see `test_the_prompt_that_tells_a_schema`
    "segment": set(),
}


class SameAnswers(Models):
    """Replies that depend on what is shown when, and on no prompt's words."""

    async def ask(
        self,
        role: str,
        question: Question,
        reply_type: type[ReplyT],
        check: Callable[[ReplyT], None] | None = None,
    ) -> Answer[ReplyT]:
        texts = [part for part in question.parts if isinstance(part, str)]
        digest = hashlib.sha256(repr((role, question.seed)).encode()).hexdigest()
        reply = answer(question.name, texts, 1, reply_type.model_json_schema(), digest)
        text = canonical_json(reply)
        return Answer(read_reply(Reply(text, "complete"), reply_type, check), f"played_{role}")


def settings(out: Path, root: Path) -> dict[str, Any]:
    return {
        "out": out,
        "videos": {"root": root},
        "roles": {**ROLES, "judges": ["two", "three"]},
        "models": {name: {"model": name, "base_url": "http://127.0.0.1:1/v1"} for name in MODELS},
    }


def build(given: dict[str, Any]) -> tuple[Summary, Counter[str]]:
    """All real stages; which of them ran."""
    config = BuildConfig.model_validate(given)
    folder = BuildFolder(config.out)
    plan = make_plan(config, STAGES, None)
    ran: Counter[str] = Counter()

    class Counted(JournalStore):
        async def put(self, video: str, stage: str, *rest: Any) -> None:
            ran[stage] += 1
            await super().put(video, stage, *rest)

    async def run() -> Summary:
        decodes = asyncio.Semaphore(1)
        with Journal(folder.journal) as journal, GuardedReader(None) as reader:
            journal.begin_run(plan.base, find_files(config.videos, skip=folder.path))
            context = BuildContext(
                stages=STAGES,
                store=Counted(journal, plan.base, STAGES),
                sections=plan.sections,
                model_identities=plan.model_identities,
                models_for=lambda video, stage: SameAnswers(),
                grounder=NO_GROUNDER,
                reader=reader,
                pack_of=lambda sha256: folder.pack(sha256, config.picture),
                kept=frames_digest(config.picture),
                decode_slot=lambda: decodes,
                is_stopped=lambda: False,
            )
            work = Work(plan, config.videos.root, lambda video: Candidates(), 2, 20)
            return await run_all(
                work,
                journal,
                lambda item: run_video(item, context),
                Stop(),
                lambda video, outcome, is_known: None,
            )

    return asyncio.run(run()), ran


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A build of two clips, done once."""
    folder = tmp_path_factory.mktemp("reruns")
    (folder / "videos").mkdir()
    for number in range(2):
        pictures = [
            picture[:176:4, ::4] for part in range(2) for picture in pan(10 * number + part, 18)
        ]
        write_frames(
            folder / "videos" / f"{number}.mp4", [np.ascontiguousarray(p) for p in pictures]
        )
    summary, ran = build(settings(folder / "build", folder / "videos"))
    assert summary.num("done") == 2, summary.counts
    assert ran == {stage.name: 2 for stage in STAGES}
    yield folder


@pytest.fixture
def again(finished: Path, tmp_path: Path) -> dict[str, Any]:
    """The settings of a copy of it."""
    shutil.copytree(finished / "build", tmp_path / "build")
    return settings(tmp_path / "build", finished / "videos")


def test_nothing_changed(again: dict[str, Any]) -> None:
    summary, ran = build(again)
    assert (summary.num_known, ran) == (2, {})


@pytest.mark.parametrize(("name", "change"), SETTINGS.items(), ids=SETTINGS)
def test_a_setting(again: dict[str, Any], name: str, change: tuple[Any, set[str]]) -> None:
    value, expected = change
    at = again
    *path, last = name.split(".")
    for part in path:
        at = at.setdefault(part, {})
    at[last] = value
    summary, ran = build(again)
    assert summary.num("done") == 2
    assert ran == dict.fromkeys(expected, 2)
    assert summary.num_known == (0 if expected else 2)


@pytest.mark.parametrize(("name", "expected"), PROMPTS.items(), ids=PROMPTS)
def test_a_prompt(
    again: dict[str, Any], monkeypatch: pytest.MonkeyPatch, name: str, expected: set[str]
) -> None:
    def changed(asked: str) -> str:
        return load_prompt(asked) + ("\nOne more sentence." if asked == name else "")

    monkeypatch.setattr(affect.prompts, "load_prompt", changed)
    summary, ran = build(again)
    assert summary.num("done") == 2
    assert ran == dict.fromkeys(expected, 2)


def test_the_prompt_that_tells_a_schema(
    again: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read where the server takes no schema."""
    again["models"]["three"]["structured_output"] = False
    assert build(again)[1] == dict.fromkeys(JUDGED, 2)
    monkeypatch.setattr(affect.prompts, "load_prompt", lambda name: load_prompt(name) + "!")
    hashed = make_plan(BuildConfig.model_validate(again), STAGES, None).model_identities
    monkeypatch.undo()
    before = make_plan(BuildConfig.model_validate(again), STAGES, None).model_identities
    assert before["judge_1"]["prompts"].keys() == {"ask_again"}
    assert before["judge_2"]["prompts"].keys() == {"ask_again", "reply_schema"}
    changed = [
        name
        for name, text in before["judge_2"]["prompts"].items()
        if hashed["judge_2"]["prompts"][name] != text
    ]
    assert changed == ["ask_again", "reply_schema"]


def test_all_prompts_and_sections_are_tried() -> None:
    of_evaluation = ("judge_", "frame_times")
    ours = [name for name in prompt_names() if not name.startswith(of_evaluation)]
    assert sorted(PROMPTS) == ours
    sections = {name.partition(".")[0] for name in SETTINGS}
    fields = set(BuildConfig.model_fields)
    assert fields - sections == {"out", "annotator", "roles"}  # roles: see `models`


def test_a_raised_version_redoes_the_stage(
    again: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def raised(stage: Stage) -> Stage:
        return replace(stage, version=stage.version + (stage.name == "snap"))

    monkeypatch.setattr(f"{__name__}.STAGES", tuple(map(raised, STAGES)))
    assert build(again)[1] == {"snap": 2}
