"""What the splits are stratified by: for each video, the strata that it belongs to.

    strata_of(facts)
    -> ("dominant: Fear", "segments: 2", "duration: 5 to 10 s", "genre: Animals", "scene: outdoor")

Appendix D of the paper names dominant emotion, number of segments, duration and coarse genre and
scene. Its bounds are not stated; ours are fixed, not quantiles, so that a video's strata do not
depend on the other videos. A video that nobody tagged is in no stratum of genre or scene.
"""

from data_prep.dataset.facts import VideoFacts

DURATION_BOUNDS_SECONDS = (5, 10, 15, 20, 30)
MANY_SEGMENTS = 6


def strata_of(facts: VideoFacts) -> tuple[str, ...]:
    """The video's strata, one of each kind that is known."""
    strata = [
        f"dominant: {facts.dominant_emotion}",
        f"segments: {_segments(facts.num_segments)}",
        f"duration: {_duration(facts.duration_seconds)}",
    ]
    if facts.genre is not None:
        strata.append(f"genre: {facts.genre}")
    if facts.scene is not None:
        strata.append(f"scene: {facts.scene}")
    return tuple(strata)


def _segments(num_segments: int) -> str:
    return str(num_segments) if num_segments < MANY_SEGMENTS else f"{MANY_SEGMENTS} or more"


def _duration(seconds: float) -> str:
    lower = 0
    for upper in DURATION_BOUNDS_SECONDS:
        if seconds < upper:
            return f"{lower} to {upper} s"
        lower = upper
    return f"{lower} s or more"
