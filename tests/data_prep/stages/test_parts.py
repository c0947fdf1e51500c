"""What a question is made of: pictures with their times."""

from pathlib import Path

from affect.llm.chat import Frame, Frames, VideoFile
from affect.llm.told_pictures import shown
from data_prep.stages.parts import listed, seconds

FRAMES = Frames("ab" * 32, (Frame(3.0, b"a"), Frame(3.25, b"b")))


def test_pictures_come_after_their_times() -> None:
    assert shown(FRAMES, "S_2") == (
        "S_2, as 2 pictures at these seconds of the clip: 3.00, 3.25.",
        FRAMES,
    )
    one = Frames("ab" * 32, (Frame(0.0, b"a"),))
    assert shown(one, "S_1")[0] == "S_1, as 1 picture at these seconds of the clip: 0.00."


def test_a_whole_clip_may_be_shown_either_way() -> None:
    video = VideoFile("ab" * 32, Path("clip.mp4"), "video/mp4", FRAMES)
    line, part = shown(video, "The clip")
    assert line == (
        "The clip, as a video, or else as 2 pictures at these seconds of the clip: 3.00, 3.25."
    )
    assert part is video


def test_times_and_lists() -> None:
    assert (seconds(5.28), seconds(3)) == ("5.3", "3.0")
    assert listed(("a", "b")) == "a, b"
