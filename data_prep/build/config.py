"""The configuration of a build: which videos, who plays which role, thresholds, what may be spent.

    dar build run --config configs/build/paper.yaml --out builds/vce --videos.root /data/vce \
        --videos.labels '[/data/vce/train_labels.json, /data/vce/test_labels.json]'

Each stage depends on its own section, so that a changed threshold redoes just what hangs on it.
"""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from affect.config.section import Section
from affect.llm.model_section import ModelSection

MODEL_ROLES = ("propose", "verify", "describe", "tag", "reason")


class VideosSection(Section):
    root: Path = Field(description="Folder under which all videos lie; ids are paths below it.")
    include: tuple[str, ...] = Field(
        ("**/*",), description="Glob patterns below the root; only files count."
    )
    labels: tuple[Path, ...] = Field(
        (), description="VCE label files (train_labels.json, test_labels.json) for the Top-3."
    )
    source: str = Field("vce", description="Written into every row as `source`.")


class PictureSection(Section):
    """The one decode pass."""

    frames_fps: float = Field(4.0, gt=0, le=30, description="Frames kept for models, per second.")
    max_frames: int = Field(128, ge=1, description="At most so many kept per video.")
    frame_side: int = Field(448, ge=32, description="Their longer side, in pixels.")
    jpeg_quality: int = Field(85, ge=1, le=95)
    analysis_side: int = Field(160, ge=32, description="Longer side for hash, flow and cuts.")
    cut_threshold: float = Field(27.0, gt=0, description="PySceneDetect content detector.")
    fade_threshold: float = Field(
        12.0, gt=0, lt=127, description="PySceneDetect threshold detector: mean brightness."
    )
    decode_timeout_seconds: float = Field(120.0, ge=0, description="For one file; 0 is no limit.")


class SelectSection(Section):
    min_duration_seconds: float = Field(1.0, gt=0, description="Paper, section 3.2.")
    max_static_hash_distance: float = Field(4.0, ge=0)
    max_static_flow_pixels: float = Field(0.25, ge=0)
    min_slideshow_still_share: float = Field(
        0.9, gt=0, le=1, description="A clip this still between its cuts is a slideshow."
    )


class ProposeSection(Section):
    max_frames: int = Field(48, ge=1, description="Shown where a model takes no video file.")
    max_segments: int = Field(32, ge=1)
    max_tokens: int = Field(2048, ge=1)


class SnapSection(Section):
    window_seconds: float = Field(0.5, ge=0, description="Paper, section 3.3.")


class VerifySection(Section):
    max_frames: int = Field(12, ge=1)
    max_depth: int = Field(2, ge=0, description="How often a span may be divided again.")
    max_tokens: int = Field(512, ge=1)


class DescribeSection(Section):
    max_frames: int = Field(12, ge=1)
    max_words: int = Field(120, ge=1)
    max_entities: int = Field(8, ge=1)
    max_tokens: int = Field(768, ge=1)


class GroundSection(Section):
    weights: Path | None = Field(
        None, description="Folder of a Grounding DINO; null checks nothing and says so."
    )
    max_frames: int = Field(6, ge=1)
    min_score: float = Field(0.3, ge=0, le=1)
    max_rewrites: int = Field(2, ge=0, description="Per description, when entities aren't found.")


class TagSection(Section):
    max_tokens: int = Field(128, ge=1)


class ReasonSection(Section):
    max_frames: int = Field(12, ge=1)
    num_pairs: int = Field(4, ge=1, description="Candidate pairs per segment; the paper has 4.")
    max_words: int = Field(200, ge=1, description="Of one reason.")
    max_tokens: int = Field(3072, ge=1)


class JudgeSection(Section):
    max_frames: int = Field(12, ge=1)
    max_tokens: int = Field(1024, ge=1)


class DecideSection(Section):
    policy: Literal["both_pass", "committee"] = Field(
        "both_pass", description="committee: the mean of both counts, as in the paper."
    )
    threshold: float = Field(3.5, ge=0, le=5, description="From the authors' script.")
    max_rewrites: int = Field(2, ge=0, description="How often a video goes back with feedback.")


class RolesSection(Section):
    """Role -> name of a model under `models`. Empty roles are an error when they are needed."""

    propose: str = ""
    verify: str = ""
    describe: str = ""
    tag: str = ""
    reason: str = ""
    judges: tuple[str, ...] = Field((), description="Two names.")
    allow_self_judging: bool = Field(
        False, description="Say aloud that a judge may judge its own words, or judge twice."
    )


class LimitsSection(Section):
    max_cost: float | None = Field(
        None, gt=0, description="In the prices' currency; reaching it ends the run cleanly."
    )
    max_asks: int = Field(3, ge=1, description="Replies asked for until one can be used.")
    max_attempts: int = Field(6, ge=1, description="Tries of one request on server faults.")
    max_backoff_seconds: float = Field(60.0, gt=0)


class EngineSection(Section):
    name: Literal["asyncio", "ray"] = "asyncio"
    videos_at_once: int = Field(64, ge=1)
    decodes_at_once: int = Field(2, ge=1, description="Decode processes.")
    ray_address: str | None = Field(None, description="null starts a local cluster.")


class ExportSection(Section):
    test_share: float = Field(
        1441 / 15087, ge=0, lt=1, description="The authors': 1,441 of 15,087 videos."
    )
    dev_share: float = Field(0.05, ge=0, lt=1, description="Of what is not test.")
    max_copy_distance: int = Field(
        6, ge=0, description="Mean Hamming distance, of 64, up to which two videos are copies."
    )
    with_videos: bool = Field(True, description="Also write a `datasets` folder with the videos.")


class BuildConfig(Section):
    out: Path = Field(Path("builds/default"), description="Folder of the build.")
    annotator: Literal["models", "offline", "rendered"] = "models"
    seed: int = 0
    videos: VideosSection
    picture: PictureSection = PictureSection()
    select: SelectSection = SelectSection()
    propose: ProposeSection = ProposeSection()
    snap: SnapSection = SnapSection()
    verify: VerifySection = VerifySection()
    describe: DescribeSection = DescribeSection()
    ground: GroundSection = GroundSection()
    tag: TagSection = TagSection()
    reason: ReasonSection = ReasonSection()
    judge: JudgeSection = JudgeSection()
    decide: DecideSection = DecideSection()
    roles: RolesSection = RolesSection()
    models: dict[str, ModelSection] = Field({}, description="Name -> how to reach it.")
    limits: LimitsSection = LimitsSection()
    engine: EngineSection = EngineSection()
    export: ExportSection = ExportSection()

    @model_validator(mode="after")
    def _roles_are_played(self) -> Self:
        if self.annotator != "models":
            return self
        named: dict[str, tuple[str, ...]] = {
            role: (getattr(self.roles, role),) for role in MODEL_ROLES
        }
        named["judges"] = self.roles.judges
        for role, names in named.items():
            for name in names:
                if name not in self.models:
                    there = ", ".join(sorted(self.models)) or "none"
                    raise ValueError(f"roles.{role}: no model {name!r} under models ({there})")
        if len(self.roles.judges) != 2:
            raise ValueError("roles.judges: two names are needed, as in [internvl, qwen_omni]")
        self._judges_are_others()
        return self

    def _judges_are_others(self) -> None:
        """Two names for one model are one model."""
        if self.roles.allow_self_judging:
            return
        first, second = (self.models[name] for name in self.roles.judges)
        if first.is_same_model(second):
            raise ValueError(
                "roles.judges: both are the same model; name two, or say "
                "roles.allow_self_judging: true"
            )
        author = self.models[self.roles.reason]
        for name in self.roles.judges:
            if self.models[name].is_same_model(author):
                raise ValueError(
                    f"roles.judges: {name!r} is the model that writes the reasons "
                    f"({self.roles.reason!r}) and would judge itself; name another, or say "
                    "roles.allow_self_judging: true"
                )
