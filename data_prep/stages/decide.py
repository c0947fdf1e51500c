"""Decide: what both judges let pass is exported, what they don't is written again (paper, 3.4).

    both_pass, threshold 3.5: means 4.2 and 3.5 pass, 4.8 and 3.4 do not
    committee, threshold 3.5: means 4.8 and 3.4 pass (4.1)

Segments that do not pass go back to the reasoner with the feedback of both judges, a bounded number
of times; neighbours that have become equal are joined, and whatever the judges would now see
otherwise is judged again. If some segment still does not pass the video is rejected
(`judged_too_low`), since a timeline with a hole is none. All rounds are in the record.
"""

from affect.judge_dimensions import JUDGE_DIMENSIONS
from affect.llm.chat import Models
from affect.llm.quoted import quoted
from affect.prompts import render_prompt
from affect.timeline import Segment, Timeline
from data_prep.build.config import DecideSection, JudgeSection, ReasonSection
from data_prep.clip import Clip
from data_prep.records import (
    MIN_SEGMENT_SECONDS,
    Candidates,
    Decided,
    FinalSegment,
    Judged,
    Judgement,
    Reasoned,
    Reasoning,
    Round,
)
from data_prep.stages.judge import JUDGE_PROMPTS, JUDGE_ROLES, judge_segment, judged_view
from data_prep.stages.reason import REASON_PROMPTS, Reasoner, merged_text
from data_prep.stages.stage import stage
from data_prep.stages.together import together

JudgementPair = tuple[Judgement, Judgement]

_FLOAT_NOISE = 1e-9
"""The mean of two means may lie a last binary digit below the threshold that it equals."""


@stage(
    prompts=(*REASON_PROMPTS, "build_reason_feedback", *JUDGE_PROMPTS),
    roles=("reason", *JUDGE_ROLES),
)
async def decide(
    clip: Clip,
    candidates: Candidates,
    reasoned: Reasoned,
    judged: Judged,
    reason_settings: ReasonSection,
    judge_settings: JudgeSection,
    settings: DecideSection,
    models: Models,
) -> Decided:
    """Raises ModelFailure, BudgetSpentError, StageFailure (`frames_lost`)."""
    reasoner = Reasoner(clip, candidates, reason_settings, models)
    segments, judgements = reasoned.segments, judged.judgements
    known = {judged_view(segments, index): pair for index, pair in enumerate(judgements)}
    rounds = [make_round(segments, judgements, settings)]
    while rounds[-1].failed_segments and len(rounds) <= settings.max_rewrites:
        segments = await rewrite(reasoner, rounds[-1], seed=len(rounds))
        views = [judged_view(segments, index) for index in range(len(segments))]
        unknown = [index for index, view in enumerate(views) if view not in known]
        pairs = await together(
            judge_segment(clip, segments, index, judge_settings, models) for index in unknown
        )
        known |= {views[index]: pair for index, pair in zip(unknown, pairs, strict=True)}
        rounds.append(make_round(segments, tuple(known[view] for view in views), settings))
    if rounds[-1].failed_segments:
        return Decided(
            rejection="judged_too_low", provenance="verified", segments=(), rounds=tuple(rounds)
        )
    return Decided(provenance="verified", segments=final_segments(segments), rounds=tuple(rounds))


def passes(pair: JudgementPair, settings: DecideSection) -> bool:
    """Whether a segment may be exported; exactly at the threshold it may."""
    means = [judgement.mean for judgement in pair]
    counts = min(means) if settings.policy == "both_pass" else sum(means) / len(means)
    return reaches(counts, settings.threshold)


def reaches(score: float, threshold: float) -> bool:
    """Whether a mean is at the threshold or above."""
    return score >= threshold - _FLOAT_NOISE


def make_round(
    segments: tuple[Reasoning, ...],
    judgements: tuple[JudgementPair, ...],
    settings: DecideSection,
) -> Round:
    """One state of the whole video and which of its segments do not pass."""
    assert len(segments) == len(judgements), (len(segments), len(judgements))
    failed = tuple(index for index, pair in enumerate(judgements) if not passes(pair, settings))
    return Round(segments=segments, judgements=judgements, failed_segments=failed)


async def rewrite(reasoner: Reasoner, judged_round: Round, seed: int) -> tuple[Reasoning, ...]:
    """The round's segments with those that failed written anew, in order, each from what now stands
    before it; no two neighbours are equal afterwards. seed: of the questions, another per round, so
    that a reasoner which repeats itself is drawn from again."""
    phases: tuple[Reasoning, ...] = ()
    for index, segment in enumerate(judged_round.segments):
        if index in judged_round.failed_segments:
            situation = [feedback_text(segment, judged_round.judgements[index])]
            if len(segment.merged_spans) > 1:
                situation.insert(0, merged_text(segment.choice.emotion))
            segment, _ = await reasoner.segment(
                segment.span,
                segment.description,
                phases[-1] if phases else None,
                segment.merged_spans,
                tuple(situation),
                seed,
            )
        phases = await reasoner.settle(phases, segment)
    return phases


def feedback_text(segment: Reasoning, pair: JudgementPair) -> str:
    """What the reasoner is told of the answer that did not pass; who judged is not said."""
    first, second = pair
    return render_prompt(
        "build_reason_feedback",
        emotion=segment.choice.emotion,
        reason=quoted(segment.choice.reason),
        first_scores=_scores(first),
        first_feedback=quoted(first.feedback),
        second_scores=_scores(second),
        second_feedback=quoted(second.feedback),
    )


def final_segments(segments: tuple[Reasoning, ...]) -> tuple[FinalSegment, ...]:
    """What the export writes, which is a `Timeline` exactly and in its one decimal."""
    final = tuple(
        FinalSegment(
            start_seconds=segment.span.start_seconds,
            end_seconds=segment.span.end_seconds,
            emotion=segment.choice.emotion,
            reason=segment.choice.reason,
        )
        for segment in segments
    )
    timeline = Timeline(
        tuple(Segment(**segment.model_dump()) for segment in final), final[-1].end_seconds
    ).rounded()
    for segment in timeline.segments:
        length_seconds = round(segment.end_seconds - segment.start_seconds, 1)
        assert length_seconds >= MIN_SEGMENT_SECONDS, segment
    return final


def _scores(judgement: Judgement) -> str:
    return ", ".join(f"{name} {judgement.scores[name]:g}" for name in JUDGE_DIMENSIONS)
