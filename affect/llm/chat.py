"""What a model is asked and what comes back, whichever server it lives on.

    question = Question(
        name="describe",
        parts=(clip_frames, "Seconds 3.0 to 5.5. Before: a bird hops. What changes?"),
        max_tokens=400,
    )
    answer = await models.ask("describe", question, DescribeReply)
    answer.value.description, answer.model      # parsed and checked; "qwen3-vl"

A stage asks a *role*; which model plays it, on which server, is configuration. A reply that cannot
be used is asked for again with the reason, a bounded number of times; then it is a `ModelFailure`
with one of the names in `FAILURE_KINDS`, never a made-up value.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

FailureKind = Literal[
    "timeout", "connection", "rate_limited", "server_error", "bad_request", "not_allowed",
    "not_found", "refused", "empty", "cut_off", "off_schema", "too_long",
]  # fmt: skip
FAILURE_KINDS: tuple[str, ...] = FailureKind.__args__  # type: ignore[attr-defined]
"""timeout, connection, rate_limited (429), server_error (5xx): the server, tried again first.
bad_request (other 4xx), not_allowed (401, 403), not_found (404: no such model or address): tried
again only in another run.
refused, empty, cut_off (token limit), off_schema, too_long: the reply, asked for again first."""
SERVER_KINDS = frozenset(FAILURE_KINDS) - {"refused", "empty", "cut_off", "off_schema", "too_long"}
"""Failures that say something of a server and nothing of what was asked."""
LASTING_KINDS = frozenset({"not_allowed", "not_found"})
"""Those of them that no waiting mends: a wrong key, an unknown model, a wrong address."""

ReplyT = TypeVar("ReplyT", bound=BaseModel)


class ModelFailure(Exception):
    """A model gave no reply that can be used, after all that may be tried.

    kind: of `FAILURE_KINDS`. model: its name in the configuration. detail: for people.
    """

    def __init__(self, kind: FailureKind, model: str, detail: str) -> None:
        super().__init__(kind, model, detail)
        self.kind: FailureKind = kind
        self.model = model
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.model}: {self.kind}: {self.detail}"


class BudgetSpentError(Exception):
    """The money that the configuration allows is spent: nothing more is asked in this run."""


class TooLongError(ValueError):
    """A check's word for a reply over the length that was asked for: it fails as `too_long`."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of a clip as JPEG bytes, and when it is shown, after the clip's first frame."""

    time_seconds: float
    jpeg: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Frames:
    """Pictures of one clip, in order. sha256: of the clip's file and how its frames were kept,
    which with the times says what is shown, so that a request's key does not hang on a JPEG
    encoder's version."""

    sha256: str
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class VideoFile:
    """A whole clip: as a file for servers that take one, else as `frames`.

    mime_type: of what the container is, not of what its name says.
    """

    sha256: str
    path: Path
    mime_type: str
    frames: Frames


Part = str | Frames | VideoFile


@dataclass(frozen=True, slots=True)
class Question:
    """One request, independent of server and model.

    name: what is asked, one word (`describe`); names the reply's schema on the wire.
    parts: texts and pictures in the order they are shown.
    max_tokens: where a reply is cut off, which is then a failure and not a reply.
    seed: another one is another draw of the same question.
    system: the text of a system turn before it; "" for none.
    """

    name: str
    parts: tuple[Part, ...]
    max_tokens: int
    seed: int = 0
    system: str = ""


@dataclass(frozen=True, slots=True)
class Answer(Generic[ReplyT]):
    """A reply that has passed its schema and its check.

    model: the name in the configuration of who wrote it. num_asks: 1, or more where earlier
    replies could not be used.
    """

    value: ReplyT
    model: str
    num_asks: int = 1


class Models(Protocol):
    """Whom a stage asks."""

    async def ask(
        self,
        role: str,
        question: Question,
        reply_type: type[ReplyT],
        check: Callable[[ReplyT], None] | None = None,
    ) -> Answer[ReplyT]:
        """The reply of the model in this role, as `reply_type`.

        reply_type: its JSON schema is what the server is asked to keep to; unknown keys, NaN and
            repeated keys are refused whether or not the server did.
        check: raises ValueError, in words a model can act on, for what a schema can't say;
            TooLongError where the reply is over its length. It changes nothing and knows nothing
            but the reply, and may be run more than once.

        Raises ModelFailure, and BudgetSpentError before anything is asked.
        """
        ...
