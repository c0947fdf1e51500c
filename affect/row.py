"""`Row`: one clip with its prompt and, where it is annotated, its timeline.

    Row(
        id="bikes", video="real/bikes.mp4", duration_seconds=10.0, source="vce",
        prompt=prompt_from_text("<video>\\nSegment this silent video."), timeline=None,
    )

How rows stand on disk is said in `affect.records`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from affect.messages import Message, normal_prompt
from affect.timeline import RELEASED_TOLERANCE_SECONDS, Timeline
from affect.video_path import check_video_path

OWN_FIELDS = frozenset(
    {
        "id",
        "video",
        "videos",
        "video_duration",
        "source",
        "conversations",
        "messages",
        "solution",
    }
)
"""The fields of stored rows that have a meaning here; all others go through `extra`."""


@dataclass(frozen=True)
class Row:
    """One clip with its prompt and, where it is annotated, its timeline.

    `prompt` is [system,] user as chat messages (`affect.messages`), the clip being a
    `{"type": "video"}` part. Raises ValueError, naming the field, for what no row may hold.
    Rows are equal when they say the same, however they stood on disk.
    """

    id: str
    video: str
    duration_seconds: float
    source: str | None
    prompt: tuple[Message, ...]
    timeline: Timeline | None
    extra: Mapping[str, Any] = field(default_factory=dict)
    video_key: Literal["video", "videos"] = field(default="videos", compare=False)
    """Under which key a GRPO row names its clip: a path, or ms-swift's list of one path."""
    stored_answer: str | None = field(default=None, compare=False)
    """The answer as it stood in the file; written again while it still says `timeline`."""

    def __post_init__(self) -> None:
        check_id(self.id)
        object.__setattr__(self, "video", check_video_path(self.video))
        object.__setattr__(self, "duration_seconds", check_duration(self.duration_seconds))
        check_source(self.source)
        try:
            object.__setattr__(self, "prompt", normal_prompt(self.prompt))
        except ValueError as error:
            raise ValueError(f"prompt: {error}") from error
        if self.timeline and self.timeline.duration_seconds != self.duration_seconds:
            raise ValueError(
                f"video_duration: the row says {self.duration_seconds} s, "
                f"its timeline {self.timeline.duration_seconds} s"
            )
        own = sorted(OWN_FIELDS & set(self.extra))
        if own:
            raise ValueError(f"{own[0]}: not a field for `extra`")


def check_id(value: object) -> str:
    """Return a row's id. Raises ValueError unless it is a text that is not blank."""
    if not (isinstance(value, str) and value.strip()):
        raise ValueError(f"id: a text that is not blank is needed, not {value!r}")
    return value


def check_source(value: object) -> str | None:
    """Return a row's source. Raises ValueError unless it is a text or None."""
    if not (value is None or isinstance(value, str)):
        raise ValueError(f"source: a text is needed, not {value!r}")
    return value


def check_duration(value: object) -> float:
    """Return a clip's length in seconds. Raises ValueError unless it is a number, 0 < s < 1e9."""
    # The bound keeps out infinity, NaN and integers beyond any float.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise ValueError(f"video_duration: seconds above 0 are needed, not {value!r}")
    return float(value)


def is_stated_duration(stated_seconds: float, decoded_seconds: float) -> bool:
    """Whether a clip's pictures last as long as its row says, within the released data's .15 s."""
    return abs(decoded_seconds - stated_seconds) <= RELEASED_TOLERANCE_SECONDS
