"""Tag: the genre of a clip and where it is set, read from its descriptions.

    Tagged(genre="Animals", scene="outdoor", author="qwen3_vl")

Appendix C of the paper, which tags from the segments' descriptions and not from pictures. The tags
stratify the split (Appendix D).
"""

from typing import Annotated

from pydantic import AfterValidator, Field

from affect.frozen import Frozen
from affect.llm.chat import Models, Question
from affect.llm.quoted import quoted
from affect.prompts import render_prompt
from data_prep.build.config import TagSection
from data_prep.records import GENRES, SCENES, Grounded, Tagged
from data_prep.stages.parts import listed
from data_prep.stages.stage import stage


def _one_of(names: tuple[str, ...]) -> AfterValidator:
    def check(value: str) -> str:
        if value not in names:
            raise ValueError(f"must be one of {listed(names)}")
        return value

    return AfterValidator(check)


class TagReply(Frozen):
    genre: Annotated[str, _one_of(GENRES), Field(json_schema_extra={"enum": list(GENRES)})]
    scene: Annotated[str, _one_of(SCENES), Field(json_schema_extra={"enum": list(SCENES)})]


@stage(prompts=("build_tag",), roles=("tag",))
async def tag(grounded: Grounded, settings: TagSection, models: Models) -> Tagged:
    """Raises ModelFailure."""
    descriptions = "\n".join(
        f"D_{number}: {quoted(description.text)}"
        for number, description in enumerate(grounded.descriptions, 1)
    )
    prompt = render_prompt(
        "build_tag", genres=listed(GENRES), scenes=listed(SCENES), descriptions=descriptions
    )
    question = Question("tag", (prompt,), settings.max_tokens)
    answer = await models.ask("tag", question, TagReply)
    return Tagged(genre=answer.value.genre, scene=answer.value.scene, author=answer.model)
