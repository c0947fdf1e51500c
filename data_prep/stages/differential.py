"""Describing one segment by what changed in it: the question that `describe` and `ground` share.

    reply, author = await describe_span(2, span, duration, before=D_1, ...)
    reply.description, reply.entities    # "The bird takes off; ...", ("bird", "puddle")

Section 3.3 of the paper, stage 2 (incremental differential captioning): the model sees the pictures
of S_i and reads D_(i-1), the description before it, and says what is different now.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from affect.frozen import Frozen
from affect.llm.chat import Models, Question, TooLongError
from affect.llm.quoted import quoted
from affect.llm.told_pictures import shown
from affect.prompts import render_prompt
from affect.timeline import is_blank
from data_prep.build.config import DescribeSection
from data_prep.clip import Clip
from data_prep.records import Description, Span
from data_prep.stages.parts import seconds

PROMPTS = ("build_describe", "build_describe_again")
MAX_ENTITY_WORDS = 4

Entity = Annotated[str, Field(min_length=1, max_length=60)]


class DescribeReply(Frozen):
    description: Annotated[str, Field(min_length=1, max_length=4000)]
    entities: Annotated[tuple[Entity, ...], Field(min_length=1, max_length=32)]


async def describe_span(
    number: int,
    span: Span,
    duration_seconds: float,
    before: Description | None,
    clip: Clip,
    settings: DescribeSection,
    models: Models,
    refused: Description | None = None,
    not_found: Sequence[str] = (),
    seed: int = 0,
) -> tuple[Description, str]:
    """D_i and its author.

    number: i, from 1. before: D_(i-1), None for the first segment, whose D_0 is empty.
    refused, not_found: an earlier D_i that must be written anew, and which of its entities a
        detector did not find in the pictures.
    seed: of the question, so that a second rewrite is a new draw even after the same words.

    Raises StageFailure (`frames_lost`) and ModelFailure.
    """
    name = f"S_{number}"
    prompt = render_prompt(
        "build_describe",
        segment=name,
        description=f"D_{number}",
        description_before=f"D_{number - 1}",
        before=_before(number, before),
        start=seconds(span.start_seconds),
        end=seconds(span.end_seconds),
        duration=seconds(duration_seconds),
        max_words=str(settings.max_words),
        max_entities=str(settings.max_entities),
        max_entity_words=str(MAX_ENTITY_WORDS),
    )
    frames = clip.span(span.start_seconds, span.end_seconds, settings.max_frames)
    again: tuple[str, ...] = ()
    if refused is not None:
        again = (
            render_prompt(
                "build_describe_again",
                description=f"D_{number}",
                refused=quoted(refused.text),
                not_found=", ".join(map(quoted, not_found)),
            ),
        )
    parts = (prompt, *shown(frames, name), *again)
    question = Question("describe", parts, settings.max_tokens, seed)

    def check(reply: DescribeReply) -> None:
        check_description(reply, settings)

    answer = await models.ask("describe", question, DescribeReply, check)
    reply = answer.value
    described = Description(
        span=span,
        text=reply.description.strip(),
        entities=tuple(entity.strip() for entity in reply.entities),
    )
    return described, answer.model


def check_description(reply: DescribeReply, settings: DescribeSection) -> None:
    """Raises TooLongError over the word limit, ValueError for entities that can't be looked for."""
    num_words = len(reply.description.split())
    if num_words > settings.max_words:
        raise TooLongError(
            f"the description has {num_words} words; at most {settings.max_words} are allowed"
        )
    if is_blank(reply.description):
        raise ValueError("the description is blank")
    if len(reply.entities) > settings.max_entities:
        raise ValueError(
            f"{len(reply.entities)} entities are too many; name the {settings.max_entities} that "
            "matter most"
        )
    text = _plain(reply.description)
    seen: set[str] = set()
    for entity in reply.entities:
        plain = _plain(entity)
        if "." in entity or is_blank(entity):
            raise ValueError(f"the entity {entity!r} must be words without a full stop")
        if len(plain.split()) > MAX_ENTITY_WORDS:
            raise ValueError(
                f"the entity {entity!r} has more than {MAX_ENTITY_WORDS} words; name the thing only"
            )
        if plain in seen:
            raise ValueError(f"the entity {entity!r} is named twice")
        if plain not in text:
            raise ValueError(
                f"the entity {entity!r} does not stand in the description; write it there word "
                "for word, or leave it out"
            )
        seen.add(plain)


def _before(number: int, before: Description | None) -> str:
    if before is None:
        assert number == 1, number
        return "empty, because S_1 is the first segment. Describe all that matters in it."
    return quoted(before.text)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
