"""What the paper states in words about its data set, to stand beside ours.

Example: `PAPER.mean_video_seconds.value, PAPER.mean_video_seconds.source` -> (14.3, "section 3.5")

Only what its text says: the figures' curves and cells are pictures and are not read off.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Stated:
    """One figure. source: where the paper says it. is_about: whether it says "about"."""

    value: float
    unit: str
    source: str
    is_about: bool = False


_SECTION = "section 3.5"
_FIGURE = "section 3.5, figure 3"


def _genre(percent: float) -> Stated:
    return Stated(percent / 100, "share of videos", "appendix C")


@dataclass(frozen=True, slots=True)
class PaperStatistics:
    """Section 3.5 and appendix C of the DAR paper; shares from 0 to 1."""

    num_videos: Stated = Stated(15_087, "videos", _SECTION)
    num_segments: Stated = Stated(36_908, "segments", _SECTION)
    num_train_videos: Stated = Stated(13_646, "videos", _SECTION)
    num_test_videos: Stated = Stated(1_441, "videos", _SECTION)
    mean_video_seconds: Stated = Stated(14.3, "s", f"{_FIGURE} (a)")
    mean_segment_seconds: Stated = Stated(5.8, "s", f"{_FIGURE} (a)")
    craving_to_satisfaction: Stated = Stated(0.47, "share of transitions", f"{_FIGURE} (c)")
    anxiety_to_fear: Stated = Stated(0.30, "share of transitions", f"{_FIGURE} (c)")
    top_17_share: Stated = Stated(0.80, "share of segments", f"{_FIGURE} (d)", is_about=True)
    mean_reason_words: Stated = Stated(118.8, "words", f"{_FIGURE} (e)")
    genres: Mapping[str, Stated] = field(
        default_factory=lambda: MappingProxyType(
            {
                "Nature/Wildlife": _genre(27.2),
                "Animals": _genre(20.5),
                "Comedy": _genre(12.2),
                "Urban Life": _genre(8.9),
                "Horror": _genre(8.0),
                "Food/Cooking": _genre(7.3),
                "Sports": _genre(7.2),
                "Performance": _genre(6.9),
                "Others": _genre(1.8),
            }
        )
    )
    scenes: Mapping[str, Stated] = field(
        default_factory=lambda: MappingProxyType({"outdoor": _genre(52.0), "indoor": _genre(48.0)})
    )

    def flat(self) -> dict[str, Stated]:
        """Name -> figure, genres and scenes as `genre: Animals` and `scene: outdoor`."""
        flat: dict[str, Stated] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Stated):
                flat[one.name] = value
            else:
                kind = one.name.removesuffix("s")
                flat |= {f"{kind}: {name}": stated for name, stated in value.items()}
        return flat


PAPER = PaperStatistics()
