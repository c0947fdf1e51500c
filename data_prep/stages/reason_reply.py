"""What a reasoner must reply, and what makes a reply unusable; nothing in it is mended.

    {"pairs": [{"evidence": "A shadow falls over the pond.", "appraisal": "...", "trigger": "...",
                "emotion": "Fear", "reason": "..."}, ...], "picked": 0}

Where a reply breaks a rule the model is told which, in words that it can act on.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

from pydantic import Field, create_model

from affect.frozen import Frozen
from affect.llm.chat import TooLongError
from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import holds_half_character, is_blank
from data_prep.build.config import ReasonSection
from data_prep.records import EmotionReason

_STEPS = ("evidence", "appraisal", "trigger", "reason")


# Bottom-up: what stands first is written first, and the label follows from it. No docstring: the
# reply's schema would carry it to the model.
class PairReply(Frozen):
    evidence: str
    appraisal: str
    trigger: str
    emotion: Annotated[str, Field(json_schema_extra={"enum": list(DAR_EMOTIONS)})]
    reason: str

    def as_record(self) -> EmotionReason:
        return EmotionReason(**self.model_dump())


class ReasonReply(Frozen):
    pairs: tuple[PairReply, ...]
    picked: int


@lru_cache(maxsize=4096)
def reply_choosing(emotions: tuple[str, ...]) -> type[ReasonReply]:
    """`ReasonReply` with a schema that offers these emotions only, so that a server which keeps to
    schemas does not write what `check_reply` would send back."""
    choice = Annotated[str, Field(json_schema_extra={"enum": list(emotions)})]
    pair = create_model("PairReply", __base__=PairReply, emotion=(choice, ...))
    return create_model("ReasonReply", __base__=ReasonReply, pairs=(tuple[pair, ...], ...))  # type: ignore[valid-type]


def check_reply(reply: ReasonReply, emotions: Sequence[str], settings: ReasonSection) -> None:
    """Raises ValueError saying what is wrong, TooLongError for a reason with too many words.

    emotions: among which each pair must choose.
    """
    if len(reply.pairs) != settings.num_pairs:
        raise ValueError(
            f"pairs: exactly {settings.num_pairs} are needed, there are {len(reply.pairs)}"
        )
    if not 0 <= reply.picked < settings.num_pairs:
        raise ValueError(f"picked: a place from 0 to {settings.num_pairs - 1}, not {reply.picked}")
    for index, pair in enumerate(reply.pairs):
        if pair.emotion not in emotions:
            raise ValueError(
                f"pairs[{index}].emotion: {pair.emotion[:40]!r} is none of {', '.join(emotions)}"
            )
        for step in _STEPS:
            _check_text(getattr(pair, step), f"pairs[{index}].{step}")
        num_words = len(pair.reason.split())
        asked = f"{settings.min_words} to {settings.max_words} words"
        if num_words < settings.min_words:
            raise ValueError(f"pairs[{index}].reason: {num_words} words, {asked} are needed")
        if num_words > settings.max_words:
            raise TooLongError(f"pairs[{index}].reason: {num_words} words, {asked} are asked for")
    seen: dict[str, int] = {}
    for index, pair in enumerate(reply.pairs):
        text = " ".join(pair.reason.lower().split())
        if text in seen:
            raise ValueError(f"pairs[{index}].reason: the same as in pairs[{seen[text]}]")
        seen[text] = index


def _check_text(text: str, name: str) -> None:
    if is_blank(text):
        raise ValueError(f"{name}: blank")
    if holds_half_character(text):
        raise ValueError(f"{name}: holds half a character (a lone surrogate)")
