"""Judge: two models score each segment's emotion and reason on five dimensions (paper, 3.4).

    record = await judge.function(clip, reasoned, settings, models)
    first, second = record.judgements[0]
    first.mean, first.feedback        # 4.2, "The reason names a dog that is not to be seen."

Both must answer for every segment; a judge that gives no usable reply is a failure of the stage,
and never leaves the other to decide alone. What is judged is quoted as data. Means are computed
here: a reply has no place for one.
"""

from typing import Annotated

from pydantic import Field

from affect.frozen import Frozen, canonical_json
from affect.judge_dimensions import JUDGE_DIMENSIONS
from affect.llm.chat import Models, Part, Question, TooLongError
from affect.llm.quoted import quoted
from affect.llm.told_pictures import shown
from affect.prompts import render_prompt
from affect.timeline import is_blank
from data_prep.build.config import JudgeSection
from data_prep.clip import Clip
from data_prep.records import Judged, Judgement, Reasoned, Reasoning
from data_prep.stages.parts import seconds
from data_prep.stages.stage import stage
from data_prep.stages.together import together

JUDGE_PROMPTS = ("build_judge", "build_judge_first", "build_judge_history")
JUDGE_ROLES = ("judge_1", "judge_2")

Score = Annotated[int, Field(ge=0, le=5)]


# No docstring: the schema would carry it to the model, whom neither mean nor threshold concern.
# Whole numbers, so that a mean is exact and lies on the threshold or does not. The feedback comes
# first: scores that follow their grounds are better considered.
class JudgeReply(Frozen):
    feedback: str
    visual_grounding: Score
    causal_logic: Score
    viewer_centricity: Score
    temporal_consistency: Score
    answer_consistency: Score


@stage(prompts=JUDGE_PROMPTS, roles=JUDGE_ROLES)
async def judge(clip: Clip, reasoned: Reasoned, settings: JudgeSection, models: Models) -> Judged:
    """All segments and both judges at once.

    Raises ModelFailure, BudgetSpentError, StageFailure (`frames_lost`).
    """
    judgements = await together(
        judge_segment(clip, reasoned.segments, index, settings, models)
        for index in range(len(reasoned.segments))
    )
    return Judged(judgements=tuple(judgements))


async def judge_segment(
    clip: Clip,
    segments: tuple[Reasoning, ...],
    index: int,
    settings: JudgeSection,
    models: Models,
) -> tuple[Judgement, Judgement]:
    """Both judges on one segment. Raises as `judge` does, also where only one has failed."""
    question = judge_question(clip, segments, index, settings)
    first, second = await together(
        _judgement(role, question, settings, models) for role in JUDGE_ROLES
    )
    return first, second


def judge_question(
    clip: Clip, segments: tuple[Reasoning, ...], index: int, settings: JudgeSection
) -> Question:
    """What both judges are asked of a segment: the pictures of S_i, D_i, what the viewer is said to
    have felt just before and why, and the emotion and reason themselves."""
    segment = segments[index]
    span, choice = segment.span, segment.choice
    prompt = render_prompt(
        "build_judge",
        start=seconds(span.start_seconds),
        end=seconds(span.end_seconds),
        description=quoted(segment.description),
        history=_history(segments[index - 1] if index else None),
        emotion=choice.emotion,
        reason=quoted(choice.reason),
        max_feedback_words=str(settings.max_feedback_words),
    )
    frames = clip.span(span.start_seconds, span.end_seconds, settings.max_frames)
    parts: tuple[Part, ...] = (prompt, *shown(frames, "S_i"))
    return Question("judge", parts, settings.max_tokens)


def judged_view(segments: tuple[Reasoning, ...], index: int) -> str:
    """All of a video's reasoning that a segment's judgement rests on, as one text: where it is
    equal, the judges would be asked the same again."""
    segment = segments[index]
    view: list[object] = [
        segment.span.start_seconds,
        segment.span.end_seconds,
        segment.description,
        segment.choice.emotion,
        segment.choice.reason,
    ]
    if index:
        before = segments[index - 1]
        view += [
            before.span.start_seconds,
            before.span.end_seconds,
            before.choice.emotion,
            before.choice.reason,
        ]
    return canonical_json(view)


def check_feedback(reply: JudgeReply, settings: JudgeSection) -> None:
    """Raises ValueError for blank feedback, which nobody could act on, TooLongError beyond its
    number of words."""
    if is_blank(reply.feedback):
        raise ValueError("feedback: blank; say what is wrong and what would mend it")
    num_words = len(reply.feedback.split())
    if num_words > settings.max_feedback_words:
        raise TooLongError(
            f"feedback: {num_words} words, at most {settings.max_feedback_words} are asked for"
        )


async def _judgement(
    role: str, question: Question, settings: JudgeSection, models: Models
) -> Judgement:
    answer = await models.ask(
        role, question, JudgeReply, lambda reply: check_feedback(reply, settings)
    )
    scores = {name: float(getattr(answer.value, name)) for name in JUDGE_DIMENSIONS}
    return Judgement(judge=answer.model, scores=scores, feedback=answer.value.feedback)


def _history(before: Reasoning | None) -> str:
    if before is None:
        return render_prompt("build_judge_first")
    return render_prompt(
        "build_judge_history",
        start=seconds(before.span.start_seconds),
        end=seconds(before.span.end_seconds),
        emotion=before.choice.emotion,
        reason=quoted(before.choice.reason),
    )
