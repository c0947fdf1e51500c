"""What each stage of the data builder leaves behind: one frozen record per video and stage.

    Snapped(spans=(Span(start_seconds=0.0, end_seconds=3.0), Span(start_seconds=3.0, ...)), ...)

Records are JSON in the journal, equal inputs give equal bytes, and a record holds everything that
later stages, `dar build show` and a doubting reader need: what was decided, by whom, and from what.
Times are seconds after a clip's first frame, exact (rounding to one decimal is the export's).
"""

from typing import Literal, Self

from pydantic import model_validator

from affect.frozen import Frozen
from affect.judge_dimensions import JUDGE_DIMENSIONS

MIN_SEGMENT_SECONDS = 0.4
"""No segment is shorter (the reward's own bound for a fragment)."""

GENRES = (
    "Nature/Wildlife", "Animals", "Comedy", "Urban Life", "Horror", "Food/Cooking", "Sports",
    "Performance", "Others",
)  # fmt: skip
"""Appendix C of the paper, in its order."""

SCENES = ("outdoor", "indoor")


class StageFailure(ValueError):
    """A stage that could not do its work; kept as a failure, and tried again in the next run.

    kind: one word (`undecodable`). detail: for people.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(kind, detail)
        self.kind = kind
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


class Record(Frozen):
    """What a stage says of one video. rejection: why the video is left out, in one word
    (`too_short`), or None; after a rejection no later stage runs."""

    rejection: str | None = None


class Video(Frozen):
    """One file to build from. id: its POSIX path under the root, NFC. sha256: of its content."""

    id: str
    sha256: str


class Candidates(Frozen):
    """The emotions among which the reasoner chooses, strongest first; () where no label file
    names any. From VCE: the three with the highest mean intensity."""

    emotions: tuple[str, ...] = ()


class Cut(Frozen):
    """A visual boundary. time_seconds: of the first frame after a cut; of the middle of a fade's
    black or white."""

    time_seconds: float
    kind: Literal["cut", "fade"]


class Motion(Frozen):
    """How much a clip moves, between neighbours of 16 frames evenly spaced over it.

    mean_hash_distance: mean Hamming distance of their 64-bit perceptual hashes, 0 to 64.
    mean_flow_pixels: mean length of the optical flow, in pixels of the analysis size.
    still_share: share of the clip's seconds, 0 to 1, in stretches of half a second or more without
        any change, from all frames.
    The first two are None for a clip of one frame: nothing can move, and nothing was measured.
    """

    mean_hash_distance: float | None
    mean_flow_pixels: float | None
    still_share: float


class Looked(Record):
    """One decode pass. perceptual_hash: hex, of evenly spaced frames, for finding copies.
    mime_type: of the container that was found. frame_times_seconds: of the frames kept for models.
    num_decode_passes: how often the file was decoded for this record."""

    num_frames: int
    duration_seconds: float
    width: int
    height: int
    codec: str
    mime_type: str
    perceptual_hash: str
    motion: Motion
    cuts: tuple[Cut, ...]
    frame_times_seconds: tuple[float, ...]
    num_decode_passes: int


class Selected(Record):
    """Whether the clip is worth the models' time: `too_short`, `static`, `slideshow` or None."""


class Span(Frozen):
    """A stretch of the clip. event: what happens in it, in the proposer's words."""

    start_seconds: float
    end_seconds: float
    event: str = ""

    @model_validator(mode="after")
    def _has_length(self) -> Self:
        if not self.end_seconds > self.start_seconds:
            raise ValueError(f"a span must end after its start, not {self}")
        return self


class Proposed(Record):
    """Events as the model proposed them, repaired by nobody: order, gaps and overlaps were checked
    and a wrong proposal asked for again."""

    spans: tuple[Span, ...]
    author: str


class Snap(Frozen):
    """What became of one inner boundary. cut: the visual boundary it moved to, if any.
    outcome: `snapped`, `kept` (no cut near), `merged` (it would have made a segment too short)."""

    before_seconds: float
    after_seconds: float | None
    cut: Cut | None
    outcome: Literal["snapped", "kept", "merged"]


class Snapped(Record):
    spans: tuple[Span, ...]
    snaps: tuple[Snap, ...]


class Integrity(Frozen):
    """One look at one span. verdict: `complete`, `split` (at the seconds given) or `merge`
    (with the span before or after). depth: how often the span had been divided before."""

    span: Span
    verdict: Literal["complete", "split", "merge_before", "merge_after"]
    split_seconds: tuple[float, ...] = ()
    reason: str
    depth: int


class Verified(Record):
    spans: tuple[Span, ...]
    checks: tuple[Integrity, ...]
    author: str | None
    """None where every boundary lay on a cut, so that nobody was asked."""


class Description(Frozen):
    """D_i: what changed in S_i against D_(i-1). entities: salient things that must be seen."""

    span: Span
    text: str
    entities: tuple[str, ...]


class Described(Record):
    descriptions: tuple[Description, ...]
    author: str


class Detection(Frozen):
    """The best box for one entity over a span's frames. score: 0 to 1, None where none was found.
    box: left, top, right, bottom as shares of the picture."""

    entity: str
    score: float | None
    time_seconds: float | None = None
    box: tuple[float, float, float, float] | None = None


class Grounding(Frozen):
    """The check of one version of one description; `rewrite` counts from 0."""

    segment: int
    rewrite: int
    detections: tuple[Detection, ...]
    ungrounded: tuple[str, ...]


class Grounded(Record):
    """Descriptions whose entities were found. grounder: None where no detector is configured, so
    that nothing was checked (and nothing is claimed)."""

    descriptions: tuple[Description, ...]
    checks: tuple[Grounding, ...]
    grounder: str | None


class Tagged(Record):
    genre: str
    scene: str
    author: str


class EmotionReason(Frozen):
    """An emotion with its chain. reason: evidence, appraisal and trigger as one text."""

    emotion: str
    evidence: str
    appraisal: str
    trigger: str
    reason: str


class Reasoning(Frozen):
    """One phase. pairs: the four candidates; picked: the index of the one chosen by its author.
    merged_spans: the spans that equal emotions joined (one span where none did)."""

    span: Span
    description: str
    pairs: tuple[EmotionReason, ...]
    picked: int
    merged_spans: tuple[Span, ...]

    @property
    def choice(self) -> EmotionReason:
        return self.pairs[self.picked]


class Reasoned(Record):
    segments: tuple[Reasoning, ...]
    author: str


class Judgement(Frozen):
    """One judge on one segment. scores: 0 to 5 for each of JUDGE_DIMENSIONS, all of them."""

    judge: str
    scores: dict[str, float]
    feedback: str

    @model_validator(mode="after")
    def _all_dimensions(self) -> Self:
        if set(self.scores) != set(JUDGE_DIMENSIONS):
            raise ValueError(f"scores for {', '.join(JUDGE_DIMENSIONS)} are needed")
        if not all(0 <= score <= 5 for score in self.scores.values()):
            raise ValueError(f"scores lie between 0 and 5, not {self.scores}")
        return self

    @property
    def mean(self) -> float:
        return sum(self.scores[name] for name in JUDGE_DIMENSIONS) / len(JUDGE_DIMENSIONS)


class Judged(Record):
    """Per segment, both judges, in the configuration's order."""

    judgements: tuple[tuple[Judgement, Judgement], ...]


class FinalSegment(Frozen):
    start_seconds: float
    end_seconds: float
    emotion: str
    reason: str


class Round(Frozen):
    """One time the whole video was reasoned and judged; round 0 is the stages' before."""

    segments: tuple[Reasoning, ...]
    judgements: tuple[tuple[Judgement, Judgement], ...]
    failed_segments: tuple[int, ...]


class Decided(Record):
    """What is exported, or `judged_too_low`. provenance: `verified` by two judges, a `draft` from
    the picture alone that nobody verified, or `rendered` truth of the drawn world."""

    provenance: Literal["verified", "draft", "rendered"]
    segments: tuple[FinalSegment, ...]
    rounds: tuple[Round, ...] = ()
