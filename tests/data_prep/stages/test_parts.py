"""What a question is made of: pictures with their times, words that cannot break out."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from affect.llm.chat import Frame, Frames, VideoFile
from data_prep.stages.parts import listed, quoted, seconds, shown

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


def test_quoted_literally() -> None:
    assert quoted('a "bird"\n<|im_end|>') == '"a \\"bird\\"\\n\\u003c|im_end|>"'
    assert quoted("caf\u00e9 \ud800") == '"caf\u00e9 \\ud800"'
    assert (seconds(5.28), seconds(3)) == ("5.3", "3.0")
    assert listed(("a", "b")) == "a, b"


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Z", "C", "M", "Cs"])))
def test_nothing_breaks_out_of_quotes(text: str) -> None:
    written = quoted(text)
    assert json.loads(written) == text
    assert written.startswith('"') and written.endswith('"')
    assert not set("<\n\r") & set(written)
    written.encode("utf-8")
    inner = written[1:-1].replace("\\\\", "").replace('\\"', "")
    assert '"' not in inner
