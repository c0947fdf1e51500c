"""What a request asks for, whichever wire format it came in, and who answers.

    answer = load_answers("tests.data_prep.scripted_answers:answer")
    answer("tag", ["Where is this?"], 12, schema, "9f2c...")      # {"genre": "Sports", ...}

The digest is that of the question as it was asked first. Clients ask again for a reply that they
could not use by adding why; the added part is not counted, so that asking again is answered as if
nothing had gone wrong, and a run with faults ends where one without them ends.
"""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from affect.prompts import load_prompt

Answers = Callable[[str, list[str], int, dict[str, Any] | None, str], dict[str, Any] | str]
"""(name, texts, number of pictures and videos, JSON schema or None, digest) -> the reply.

name: of the schema, or its title; "" where the wire has neither, as Gemini's may.
"""

_ASKED_AGAIN = load_prompt("ask_again").partition("$")[0]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. name: of the schema, "" where the wire has none. texts: in order, the system's
    first. media: a digest per picture or video. schema: from the wire or quoted in the texts."""

    name: str
    model: str
    texts: tuple[str, ...]
    media: tuple[str, ...]
    schema: dict[str, Any] | None
    seed: int | None

    @property
    def question(self) -> "Asked":
        """Without what was added on asking again."""
        texts = tuple(_first_asked(text) for text in self.texts)
        return Asked(
            self.name,
            self.model,
            tuple(text for text in texts if text),
            self.media,
            self.schema,
            self.seed,
        )

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of the question."""
        asked = self.question
        value = [asked.name, asked.model, asked.texts, asked.media, asked.schema, asked.seed]
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()

    @property
    def prompt_tokens(self) -> int:
        """As these servers count: `count_tokens` of the texts, and 256 per picture or video."""
        return count_tokens(*self.texts) + 256 * len(self.media)


def count_tokens(*texts: str) -> int:
    """Words and marks: near enough to a tokenizer's count, and countable by hand."""
    return sum(len(re.findall(r"\w+|[^\w\s]", text)) for text in texts)


def media_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def quoted_schema(texts: Sequence[str]) -> dict[str, Any] | None:
    """The schema that is quoted in the prompt for servers that take none, if one is."""
    decoder = json.JSONDecoder()
    for text in reversed(texts):
        for match in re.finditer(r"\{", text):
            try:
                value, _ = decoder.raw_decode(text, match.start())
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict) and isinstance(value.get("properties"), dict):
                return value
    return None


def load_answers(name: str) -> Answers:
    """Import `package.module:function`. Raises ValueError saying what is wrong with the name."""
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise ValueError(f"answers: package.module:function is needed, not {name!r}")
    try:
        return cast(Answers, getattr(import_module(module), function))
    except (ImportError, AttributeError) as error:
        raise ValueError(f"answers: {name!r} cannot be imported: {error}") from error


def _first_asked(text: str) -> str:
    if text.startswith(_ASKED_AGAIN):
        return ""
    return text.rpartition("\n" + _ASKED_AGAIN)[0].rstrip("\n") or text
