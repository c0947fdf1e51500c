"""Reason: which emotion each segment moves its viewer to, and by what chain (paper, 3.3, stage 3).

    record = await reason.function(clip, grounded, candidates, settings, models)
    record.segments[0].choice.emotion      # "Fear"

Segments are reasoned in order, each from the one before it and its feeling: {S_(i-1), D_(i-1),
E_(i-1)} and {S_i, D_i}. Neighbours that turn out equal become one phase, which is reasoned anew and
compared again, on both sides, until no two are equal. Each joining leaves one phase fewer, so it
ends whatever the model says.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from affect.llm.chat import Frames, Models, Part, Question
from affect.llm.quoted import quoted
from affect.llm.told_pictures import shown
from affect.prompts import render_prompt
from affect.taxonomy import DAR_EMOTIONS
from data_prep.build.config import ReasonSection
from data_prep.clip import Clip
from data_prep.records import (
    Candidates,
    Description,
    Grounded,
    Reasoned,
    Reasoning,
    Span,
)
from data_prep.stages.parts import listed, seconds
from data_prep.stages.reason_reply import check_reply, reply_choosing
from data_prep.stages.snap import joined_events
from data_prep.stages.stage import stage

REASON_PROMPTS = (
    "build_reason", "build_reason_first", "build_reason_history", "build_reason_strict",
    "build_reason_open", "build_reason_unrated", "build_reason_merged",
)  # fmt: skip


@dataclass(frozen=True)
class Reasoner:
    """Whoever writes reasons about one clip; `reason` and `decide` share it."""

    clip: Clip
    candidates: Candidates
    settings: ReasonSection
    models: Models

    @property
    def emotions(self) -> tuple[str, ...]:
        """Among which a reply chooses."""
        if self.candidates.emotions and self.settings.candidates == "strict":
            return self.candidates.emotions
        return DAR_EMOTIONS

    async def segment(
        self,
        span: Span,
        description: str,
        before: Reasoning | None,
        merged_spans: tuple[Span, ...] = (),
        situation: tuple[str, ...] = (),
        seed: int = 0,
    ) -> tuple[Reasoning, str]:
        """One segment's reasoning and its author.

        merged_spans: what `span` was joined from; () where nothing was. situation: further texts
        for the model, why this segment is reasoned again. seed: another one is another draw.
        Raises ModelFailure, BudgetSpentError.
        """
        settings = self.settings
        question = Question(
            "reason",
            self._parts(span, description, before, situation),
            settings.max_tokens,
            seed,
        )
        answer = await self.models.ask(
            "reason",
            question,
            reply_choosing(self.emotions),
            lambda reply: check_reply(reply, self.emotions, settings),
        )
        reasoning = Reasoning(
            span=span,
            description=description,
            pairs=tuple(pair.as_record() for pair in answer.value.pairs),
            picked=answer.value.picked,
            merged_spans=merged_spans or (span,),
        )
        return reasoning, answer.model

    async def joined(
        self, left: Reasoning, right: Reasoning, before: Reasoning | None
    ) -> tuple[Reasoning, str]:
        """Two neighbours with one emotion as one phase, reasoned anew."""
        span = Span(
            start_seconds=left.span.start_seconds,
            end_seconds=right.span.end_seconds,
            event=joined_events(left.span.event, right.span.event),
        )
        return await self.segment(
            span,
            joined_events(left.description, right.description),
            before,
            left.merged_spans + right.merged_spans,
            (merged_text(left.choice.emotion),),
        )

    async def settle(
        self, phases: Sequence[Reasoning], following: Reasoning
    ) -> tuple[Reasoning, ...]:
        """`phases`, no two neighbours of which are equal, and the next one, joined as long as the
        last two are equal. Length: 1 to len(phases) + 1."""
        settled = [*phases, following]
        while len(settled) > 1 and settled[-2].choice.emotion == settled[-1].choice.emotion:
            right, left = settled.pop(), settled.pop()
            phase, _ = await self.joined(left, right, settled[-1] if settled else None)
            settled.append(phase)
        return tuple(settled)

    def _parts(
        self, span: Span, description: str, before: Reasoning | None, situation: tuple[str, ...]
    ) -> tuple[Part, ...]:
        settings = self.settings
        prompt = render_prompt(
            "build_reason",
            start=seconds(span.start_seconds),
            end=seconds(span.end_seconds),
            description=quoted(description),
            history=_history(before),
            candidates=self._candidates_text(),
            num_pairs=str(settings.num_pairs),
            last_pair=str(settings.num_pairs - 1),
            min_words=str(settings.min_words),
            max_words=str(settings.max_words),
        )
        parts: list[Part] = [prompt, *situation]
        if before is not None:
            parts.extend(shown(self._frames(before.span), "S_(i-1)"))
        parts.extend(shown(self._frames(span), "S_i"))
        return tuple(parts)

    def _frames(self, span: Span) -> Frames:
        return self.clip.span(span.start_seconds, span.end_seconds, self.settings.max_frames)

    def _candidates_text(self) -> str:
        rated = self.candidates.emotions
        if not rated:
            return render_prompt("build_reason_unrated")
        return render_prompt(f"build_reason_{self.settings.candidates}", candidates=listed(rated))


def merged_text(emotion: str) -> str:
    """What the reasoner is told of a phase that equal neighbours were joined to."""
    return render_prompt("build_reason_merged", emotion=emotion)


def _history(before: Reasoning | None) -> str:
    if before is None:
        return render_prompt("build_reason_first")
    return render_prompt(
        "build_reason_history",
        start=seconds(before.span.start_seconds),
        end=seconds(before.span.end_seconds),
        description=quoted(before.description),
        emotion=before.choice.emotion,
    )


@stage(prompts=REASON_PROMPTS, roles=("reason",))
async def reason(
    clip: Clip,
    grounded: Grounded,
    candidates: Candidates,
    settings: ReasonSection,
    models: Models,
) -> Reasoned:
    """Raises ModelFailure, BudgetSpentError, StageFailure (`frames_lost`)."""
    check_joints(grounded.descriptions)
    reasoner = Reasoner(clip, candidates, settings, models)
    phases: tuple[Reasoning, ...] = ()
    author = ""
    for description in grounded.descriptions:
        before = phases[-1] if phases else None
        phase, author = await reasoner.segment(description.span, description.text, before)
        phases = await reasoner.settle(phases, phase)
    return Reasoned(segments=phases, author=author)


def check_joints(descriptions: Sequence[Description]) -> None:
    """The stages before leave spans that cover the clip from 0 without a gap."""
    end_seconds = 0.0
    for description in descriptions:
        assert description.span.start_seconds == end_seconds, descriptions
        end_seconds = description.span.end_seconds
    assert descriptions, "a video without a segment went on to be reasoned"
