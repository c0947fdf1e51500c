"""The configuration of a build: which videos, who plays which role, thresholds, what may be spent.

    dar build run --config configs/build/paper.yaml --out builds/vce --videos.root path/to/vce \
        --videos.labels '[path/to/vce/train_labels.json, path/to/vce/test_labels.json]'

Each stage depends on its own section, so that a changed threshold redoes just what hangs on it.
"""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from affect.config.section import Section
from affect.llm.model_section import ModelSection

MODEL_ROLES = ("propose", "verify", "describe", "tag", "reason")


class VideosSection(Section):
    """Which files are built from."""

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
    jpeg_quality: int = Field(85, ge=1, le=95, description="Of the kept frames.")
    analysis_side: int = Field(160, ge=32, description="Longer side for hash, flow and cuts.")
    cut_threshold: float = Field(27.0, gt=0, description="PySceneDetect content detector.")
    fade_threshold: float = Field(
        12.0, gt=0, lt=127, description="PySceneDetect threshold detector: mean brightness."
    )


class SelectSection(Section):
    """Which clips are left out (section 3.2)."""

    min_duration_seconds: float = Field(1.0, gt=0, description="Paper, section 3.2.")
    max_static_hash_distance: float = Field(
        4.0, ge=0, description="Of 64 bits, between 16 frames; static if flow is as low, too."
    )
    max_static_flow_pixels: float = Field(
        0.1,
        ge=0,
        description="At the analysis size: .1 of 160 is the authors' .25 in a clip 400 wide.",
    )
    min_slideshow_still_share: float = Field(
        0.9, gt=0, le=1, description="A clip this still between its changes is a slideshow."
    )


class ProposeSection(Section):
    """Events, before the picture has its say (section 3.3)."""

    max_frames: int = Field(48, ge=1, description="Shown where a model takes no video file.")
    max_segments: int = Field(32, ge=1, description="More events are refused.")
    max_tokens: int = Field(2048, ge=1, description="Where a reply is cut off, which is a failure.")


class SnapSection(Section):
    """Boundaries onto visual cuts."""

    window_seconds: float = Field(0.5, ge=0, description="Paper, section 3.3.")


class VerifySection(Section):
    """Whether a segment is one whole event."""

    max_frames: int = Field(12, ge=1, description="Shown, of one segment.")
    max_depth: int = Field(2, ge=0, description="How often a span may be divided again.")
    max_tokens: int = Field(512, ge=1, description="Where a reply is cut off, which is a failure.")


class DescribeSection(Section):
    """What changes from one segment to the next."""

    max_frames: int = Field(12, ge=1, description="Shown, of one segment.")
    max_words: int = Field(120, ge=1, description="Of one description.")
    max_entities: int = Field(8, ge=1, description="Named per description.")
    max_tokens: int = Field(768, ge=1, description="Where a reply is cut off, which is a failure.")


class GroundSection(Section):
    """Whether what is named is seen."""

    weights: Path | None = Field(
        None, description="Folder of a Grounding DINO; null checks nothing and says so."
    )
    max_frames: int = Field(6, ge=1, description="Shown, of one segment.")
    min_score: float = Field(0.3, ge=0, le=1, description="At which a thing counts as seen.")
    max_rewrites: int = Field(2, ge=0, description="Per description, when entities aren't found.")

    @property
    def identity(self) -> dict[str, Any]:
        """What decides records; which weights lie in the folder is the grounder's to say."""
        return self.model_dump(mode="json", exclude={"weights"})


class TagSection(Section):
    """Genre and scene (appendix C)."""

    max_tokens: int = Field(128, ge=1, description="Where a reply is cut off, which is a failure.")


class ReasonSection(Section):
    """Evidence, appraisal, trigger; one emotion of several (section 3.3)."""

    max_frames: int = Field(12, ge=1, description="Shown, of one segment.")
    num_pairs: int = Field(4, ge=1, description="Candidate pairs per segment; the paper has 4.")
    min_words: int = Field(
        40,
        ge=1,
        description="Of one reason; 40 to 200 is the reason reward's mean of 120 +- 2 sigma.",
    )
    max_words: int = Field(200, ge=1, description="Of one reason.")
    candidates: Literal["strict", "open"] = Field(
        "strict",
        description="strict: only the Top-3, where there are labels, as in the paper; open: the "
        "Top-3 are preferred and any of the 27 may be taken, as in the authors' script.",
    )
    max_tokens: int = Field(3072, ge=1, description="Where a reply is cut off, which is a failure.")

    @model_validator(mode="after")
    def _words_are_a_range(self) -> Self:
        if self.min_words > self.max_words:
            raise ValueError(f"min_words {self.min_words} is above max_words {self.max_words}")
        return self


class JudgeSection(Section):
    """Two judges on five dimensions (section 3.4)."""

    max_frames: int = Field(12, ge=1, description="Shown, of one segment.")
    max_feedback_words: int = Field(150, ge=1, description="Of one judge on one segment.")
    max_tokens: int = Field(1024, ge=1, description="Where a reply is cut off, which is a failure.")


class DecideSection(Section):
    """What both judges' scores decide."""

    policy: Literal["both_pass", "committee"] = Field(
        "both_pass", description="committee: the mean of both counts, as in the paper."
    )
    threshold: float = Field(3.5, ge=0, le=5, description="From the authors' script.")
    max_rewrites: int = Field(2, ge=0, description="How often a video goes back with feedback.")


class DraftSection(Section):
    """Drafts from the picture alone (`annotator: offline`)."""

    max_frames: int = Field(128, ge=2, description="Of the kept ones, evenly chosen.")
    # .5 s keeps .4 s after both ends are rounded to one decimal.
    min_segment_seconds: float = Field(1.0, ge=0.5, description="Shorter ones are joined.")
    max_segments: int = Field(32, ge=1, le=256, description="The strongest boundaries stay.")
    change_window_seconds: float = Field(
        1.0, gt=0, description="Before and after a frame, for telling whether something changed."
    )
    min_color_change: float = Field(
        0.12, gt=0, le=1, description="Of the mean colour, per channel, as a share of full scale."
    )
    min_motion_change: float = Field(
        0.06, gt=0, le=1, description="Of the mean change of a pixel's brightness between frames."
    )


class RenderedSection(Section):
    """The drawn world's truth (`annotator: rendered`)."""

    seed: int = Field(0, description="The seed that the world was drawn with.")


class RolesSection(Section):
    """Role -> name of a model under `models`. Empty roles are an error when they are needed."""

    propose: str = Field("", description="Names events in a whole clip.")
    verify: str = Field("", description="Looks at segments that met no cut.")
    describe: str = Field("", description="Writes the descriptions.")
    tag: str = Field("", description="Names genre and scene.")
    reason: str = Field("", description="Chooses emotions and writes reasons.")
    judges: tuple[str, ...] = Field((), description="Two names.")
    allow_self_judging: bool = Field(
        False, description="Say aloud that a judge may judge its own words, or judge twice."
    )


class LimitsSection(Section):
    """What may be spent, and how often something is tried."""

    max_cost: float | None = Field(
        None, gt=0, description="In the prices' currency; reaching it ends the run cleanly."
    )
    max_asks: int = Field(3, ge=1, description="Replies asked for until one can be used.")
    max_attempts: int = Field(6, ge=1, description="Tries of one request on server faults.")
    max_backoff_seconds: float = Field(60.0, gt=0, description="Longest wait between two tries.")
    max_failures_in_a_row: int = Field(
        20, ge=1, description="Videos that fail one after the other for a server end the run."
    )


class EngineSection(Section):
    """What is under way at once, and where."""

    name: Literal["asyncio", "ray"] = Field(
        "asyncio", description="ray: on a cluster, with the extra `ray`."
    )
    videos_at_once: int = Field(64, ge=1, description="Videos under way.")
    decodes_at_once: int = Field(2, ge=1, description="Decode processes.")
    decode_timeout_seconds: float = Field(120.0, ge=0, description="For one file; 0 is no limit.")
    ray_address: str | None = Field(None, description="null starts a cluster on this machine.")
    ray_workers: int | None = Field(None, ge=1, description="null: one per core of the cluster.")


class ExportSection(Section):
    """Splits, copies and what is written."""

    split: Literal["stratified", "folder"] = Field(
        "stratified",
        description="folder: a video is in the split that a folder of its path names (train, dev "
        "or test), and copies across splits are refused.",
    )
    test_share: float = Field(
        1441 / 15087, ge=0, lt=1, description="The authors': 1,441 of 15,087 videos."
    )
    dev_share: float = Field(0.05, ge=0, lt=1, description="Of what is not test.")
    max_copy_distance: int = Field(
        6, ge=0, description="Mean Hamming distance, of 64, up to which two videos are copies."
    )
    with_videos: bool = Field(True, description="Also write a `datasets` folder with the videos.")
    mix_provenances: bool = Field(
        False, description="Say aloud that drafts, verified and rendered rows may stand together."
    )


class BuildConfig(Section):
    out: Path = Field(Path("builds/default"), description="Folder of the build.")
    annotator: Literal["models", "offline", "rendered"] = Field(
        "models",
        description="models: all stages; offline: drafts from the picture alone; rendered: the "
        "drawn world's truth.",
    )
    seed: int = Field(0, description="Of the splits.")
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
    draft: DraftSection = DraftSection()
    rendered: RenderedSection = RenderedSection()
    roles: RolesSection = RolesSection()
    models: dict[str, ModelSection] = Field({}, description="Name -> how to reach it.")
    limits: LimitsSection = LimitsSection()
    engine: EngineSection = EngineSection()
    export: ExportSection = ExportSection()

    def with_absolute_paths(self) -> Self:
        """The same build from wherever it is gone on with. Links are left as they are."""
        videos, weights = self.videos, self.ground.weights
        labels = tuple(path.absolute() for path in videos.labels)
        found = {"root": videos.root.absolute(), "labels": labels}
        detector = {"weights": weights.absolute() if weights else None}
        return self.model_copy(
            update={
                "out": self.out.absolute(),
                "videos": videos.model_copy(update=found),
                "ground": self.ground.model_copy(update=detector),
            }
        )

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
