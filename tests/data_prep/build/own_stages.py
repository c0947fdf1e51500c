"""A small build with stages of its own, which count how often they run: for tests of the engine.

root = write_files(tmp_path / "videos", 5)
build = OwnBuild(tmp_path / "build", root)
summary, seen = build.run()
build.runs["measure"]            # 5
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from affect.llm.chat import Answer, Frame, Models, Question
from affect.llm.scripted_models import ScriptedModels
from affect.video import GuardedReader
from data_prep.build.config import BuildConfig, PictureSection, SelectSection, SnapSection
from data_prep.build.engine import Summary, Work, run_all
from data_prep.build.folder import BuildFolder, frames_digest
from data_prep.build.journal import Journal
from data_prep.build.journal_store import JournalStore
from data_prep.build.listing import find_files
from data_prep.build.outcome import Outcome
from data_prep.build.plan import make_plan
from data_prep.build.run_video import BuildContext, run_video
from data_prep.build.stage_models import StageModels
from data_prep.build.stop import Stop
from data_prep.clip import Clip, write_pack
from data_prep.grounder import NO_GROUNDER
from data_prep.records import (
    Candidates,
    Decided,
    FinalSegment,
    Looked,
    Motion,
    Selected,
    StageFailure,
    Tagged,
    Video,
)
from data_prep.stages.stage import Stage, stage


class _Tag(BaseModel):
    model_config = ConfigDict(extra="forbid")
    genre: str


class OwnStages:
    """Four stages. before: called with a stage's name and the clip's text when it runs."""

    def __init__(self, before: Callable[[str, str], None] = lambda name, text: None) -> None:
        self.runs: Counter[str] = Counter()
        self.before = before

    @property
    def stages(self) -> tuple[Stage, ...]:
        def begin(name: str, text: str) -> None:
            self.runs[name] += 1
            self.before(name, text)

        @stage()
        async def look(video: Video, clip: Clip, settings: PictureSection) -> Looked:
            text = clip.path.read_text()
            begin("look", text)
            if text.startswith("broken"):
                raise StageFailure("undecodable", "it says so itself")
            write_pack(clip.pack, [Frame(0.0, text.encode())])
            return looked(float(len(text)))

        @stage()
        async def select(looked: Looked, settings: SelectSection) -> Selected:
            begin("select", "")
            is_short = looked.duration_seconds < settings.min_duration_seconds
            return Selected(rejection="too_short" if is_short else None)

        @stage(prompts=("segment",), roles=("tag",))
        async def tag(clip: Clip, models: Models, settings: SnapSection) -> Tagged:
            text = clip.span(0.0, 1.0, 1).frames[0].jpeg.decode()
            begin("tag", text)
            answer: Answer[_Tag] = await models.ask("tag", Question("tag", (text,), 10), _Tag)
            return Tagged(genre=answer.value.genre, scene="outdoor", author=answer.model)

        @stage()
        async def decide(looked: Looked, tagged: Tagged, candidates: Candidates) -> Decided:
            begin("decide", "")
            segment = FinalSegment(
                start_seconds=0.0,
                end_seconds=looked.duration_seconds,
                emotion="Joy",
                reason=" ".join((tagged.genre, *candidates.emotions)),
            )
            return Decided(provenance="draft", segments=(segment,))

        return (look, select, tag, decide)


def looked(duration_seconds: float) -> Looked:
    return Looked(
        num_frames=1, duration_seconds=duration_seconds, width=2, height=2, codec="none",
        mime_type="text/plain", perceptual_hash="00", num_decode_passes=1, cuts=(),
        motion=Motion(mean_hash_distance=9.0, mean_flow_pixels=1.0, still_share=0.0),
        frame_times_seconds=(0.0,),
    )  # fmt: skip


def write_files(root: Path, num: int) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for number in range(num):
        (root / f"{number:04d}.txt").write_text(f"clip number {number}")
    return root


def answer_by_text(role: str, question: Question, num_ask: int) -> str:
    return json.dumps({"genre": f"genre of {question.parts[0]}"})


class OwnBuild:
    """settings: of the configuration, dotted."""

    def __init__(self, out: Path, root: Path, **settings: Any) -> None:
        self.folder = BuildFolder(out)
        self.own = OwnStages()
        self.models: Models = ScriptedModels(answer_by_text)
        self.candidates: dict[str, Candidates] = {}
        self.settings: dict[str, Any] = {
            "out": out,
            "annotator": "offline",
            "videos": {"root": root},
            "roles": {"tag": "tagger"},
            "models": {"tagger": {"model": "a-model"}},
            **settings,
        }

    @property
    def config(self) -> BuildConfig:
        return BuildConfig.model_validate(self.settings)

    @property
    def runs(self) -> Counter[str]:
        return self.own.runs

    def run(self, stop: Stop | None = None) -> tuple[Summary, dict[str, Outcome]]:
        return asyncio.run(self.run_async(stop or Stop(grace_seconds=0.0)))

    async def run_async(self, stop: Stop) -> tuple[Summary, dict[str, Outcome]]:
        seen: dict[str, Outcome] = {}

        def on_outcome(video: str, outcome: Outcome, is_known: bool) -> None:
            assert video not in seen
            seen[video] = outcome

        config, reader = self.config, GuardedReader(None)
        plan = make_plan(config, self.own.stages, None)
        work = Work(
            plan,
            config.videos.root,
            lambda video: self.candidates.get(video, Candidates()),
            config.engine.videos_at_once,
            config.limits.max_failures_in_a_row,
        )
        decodes = asyncio.Semaphore(config.engine.decodes_at_once)
        with closing(reader), Journal(self.folder.journal) as journal:
            journal.begin_run(plan.base, find_files(config.videos, skip=self.folder.path))
            context = BuildContext(
                stages=plan.stages,
                store=JournalStore(journal, plan.base, plan.stages),
                sections=plan.sections,
                model_identities=plan.model_identities,
                models_for=lambda video, stage: StageModels(
                    self.models, video, stage, self.folder.replies, stop.is_set
                ),
                grounder=NO_GROUNDER,
                reader=reader,
                pack_of=lambda sha256: self.folder.pack(sha256, config.picture),
                kept=frames_digest(config.picture),
                decode_slot=lambda: decodes,
                is_stopped=stop.is_set,
            )
            summary = await run_all(
                work, journal, lambda item: run_video(item, context), stop, on_outcome
            )
            await journal.end_run(summary.ending)
        return summary, seen
