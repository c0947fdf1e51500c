"""A row as a model on a server is asked about it, and its reply as an answer.

    question_of(row, clip, section, "segment", Sampling(400)).parts
    -> ("The video is shown as pictures in order. They stand at these seconds of it: 0.00, ...",
        Frames(...), "You watch a silent video of 8.0 seconds. ...")

A local Qwen2.5-VL knows when each frame is shown from its positions. A server that is sent pictures
knows nothing of their times, so one line before them says it; one that is sent the whole clip gets
the clip alone.
"""

import math
from typing import Any, Literal

from pydantic import BaseModel

from affect.llm.chat import Part, Question, VideoFile
from affect.llm.model_section import ModelSection
from affect.llm.reply import Reply
from affect.llm.shown_as import shown_as_frames
from affect.llm.wire_schema import wire_schema
from affect.messages import VIDEO_MARK, text_from_parts
from affect.prompts import render_prompt, render_segment_prompt
from affect.records import Row
from affect.taxonomy import DAR_EMOTIONS
from affect.trained_budget import ROW_PROMPT
from evaluation.predictions import Answer
from evaluation.settings import Sampling, row_seed
from evaluation.shown import ShownClip

QUESTION = "segment"
"""The question's name."""
MAX_TEMPERATURE = 2.0
"""Of what both APIs take."""


class _Segment(BaseModel):
    start_time: float
    end_time: float
    emotion: Literal[DAR_EMOTIONS]  # type: ignore[valid-type]
    reason: str


class _Timeline(BaseModel):
    segments: list[_Segment]


def asked_section(section: ModelSection, sampling: Sampling) -> ModelSection:
    """The section as a prediction uses it: with the sampling, and with `structured_output` only
    where it was said. A checkpoint on this machine is held to no schema, and a table compares both.

    Raises ValueError for a temperature that servers do not take.
    """
    if sampling.temperature > MAX_TEMPERATURE:
        raise ValueError(
            f"--temperature {sampling.temperature:g}: a model on a server takes 0 to "
            f"{MAX_TEMPERATURE:g}"
        )
    is_said = "structured_output" in section.model_fields_set
    extra: dict[str, Any] = dict(section.extra_body)
    if sampling.top_k:
        if section.api == "gemini":
            settings = extra.get("generationConfig", {})
            extra["generationConfig"] = {**settings, "topK": sampling.top_k}
        else:
            extra["top_k"] = sampling.top_k
    return section.model_copy(
        update={
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "extra_body": extra,
            "structured_output": section.structured_output and is_said,
        }
    )


def require_prices(section: ModelSection, max_cost: float | None) -> None:
    """Raises ValueError for a limit on the cost that is none, or could not be kept."""
    if max_cost is None:
        return
    if not 0 < max_cost < math.inf:
        raise ValueError(f"--max-cost must be above 0, not {max_cost:g}")
    for name in ("price_per_million_prompt_tokens", "price_per_million_completion_tokens"):
        if getattr(section, name) is None:
            raise ValueError(
                f"--max-cost {max_cost:g}: the price of {section.model} is not known; give "
                f"--endpoint.{name} (0 for a server of your own)"
            )


def reply_schema(section: ModelSection) -> dict[str, Any] | None:
    """The schema of a timeline where the section asks for structured output, else None."""
    return wire_schema(_Timeline, QUESTION) if section.structured_output else None


def question_of(
    row: Row, clip: ShownClip, section: ModelSection, prompt: str, sampling: Sampling
) -> Question:
    """prompt: `segment` for the project's with the decoded duration, `row` for the row's own turns.

    Raises ValueError for a clip too short to be segmented.
    """
    shown = _shown(clip.video, section)
    system = ""
    if prompt == ROW_PROMPT:
        *before, user = row.prompt
        system = text_from_parts(before[0]["content"]) if before else ""
        first, _, rest = text_from_parts(user["content"]).partition(VIDEO_MARK)
        parts = (first, *shown, rest)
    else:
        parts = (*shown, render_segment_prompt(clip.duration_seconds))
    # At temperature 0 there is one reply to a clip, whichever row asks for it.
    seed = row_seed(sampling.seed, row.id) if sampling.temperature > 0 else sampling.seed
    return Question(
        QUESTION,
        tuple(part for part in parts if part != ""),
        sampling.max_new_tokens,
        seed=seed,
        system=system,
    )


def answer_of(reply: Reply) -> Answer:
    """The text as it came; a reply that says nothing is the text "", a refused one an error."""
    if reply.finish == "refused":
        return Answer(None, error=f"refused: {reply.detail or 'the server does not say why'}")
    is_finished = reply.finish != "cut_off"
    return Answer(reply.text, num_tokens=reply.completion_tokens, finished=is_finished)


def _shown(clip: VideoFile, section: ModelSection) -> tuple[Part, ...]:
    if not shown_as_frames(section, clip):
        return (clip,)
    times = ", ".join(f"{frame.time_seconds:.2f}" for frame in clip.frames.frames)
    return (render_prompt("frame_times", times=times), clip.frames)
