"""How a question shows pictures: a line that says what they are and when, then the pictures.

    question = Question("describe", (prompt, *shown(frames, "S_2")), max_tokens=400)
    shown(frames, "S_2")[0]     # "S_2, as 2 pictures at these seconds of the clip: 3.00, 3.25."

Pictures have no times of their own for a model; without that line it cannot find an interval.
"""

from affect.llm.chat import Frames, Part, VideoFile


def shown(pictures: Frames | VideoFile, label: str) -> tuple[Part, ...]:
    """A line that says what is shown and at which seconds, then the pictures or the clip.

    label: what the prompt calls it (`S_2`). A whole clip may reach the model as a video or as
    pictures, so its line says the times for the second case.
    """
    if isinstance(pictures, VideoFile):
        frames = pictures.frames.frames
        line = f"{label}, as a video, or else as {_count(len(frames))}"
    else:
        frames = pictures.frames
        line = f"{label}, as {_count(len(frames))}"
    times = ", ".join(f"{frame.time_seconds:.2f}" for frame in frames)
    return (f"{line} at these seconds of the clip: {times}.", pictures)


def _count(num_pictures: int) -> str:
    return f"{num_pictures} picture" + ("" if num_pictures == 1 else "s")
