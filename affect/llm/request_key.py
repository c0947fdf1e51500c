"""The key under which a reply is kept: a hash of all that decides it and of nothing else.

    >>> len(request_key(section, question, wire_schema(TagReply, "tag")))
    64

The model's identity, the texts, a system turn if there is one, which pictures are shown (the clip's
hash and the times), the schema, the limit of tokens, the seed. Not the server's address, the price
or the JPEG bytes, so that a moved server or another encoder's version buys nothing anew.
"""

import hashlib
import json
from typing import Any

from affect.llm.chat import Frames, Part, Question, VideoFile
from affect.llm.model_section import ModelSection
from affect.llm.shown_as import shown_as_frames
from affect.llm.wire_schema import schema_in_words

KEY_VERSION = 1
"""Raised when the clients show the same question in another way."""


def request_key(section: ModelSection, question: Question, schema: dict[str, Any] | None) -> str:
    """SHA-256, in hex."""
    depends: dict[str, Any] = {
        "version": KEY_VERSION,
        "model": section.identity,
        "parts": [_shown(part, section) for part in question.parts],
        "schema": schema,
        "max_tokens": question.max_tokens,
        "seed": question.seed,
    }
    if question.system:  # only then, so that the keys of all other questions stay what they are
        depends["system"] = question.system
    if schema is not None and not section.structured_output:
        depends["schema_in_words"] = schema_in_words(schema)
    text = json.dumps(depends, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _shown(part: Part, section: ModelSection) -> Any:
    if isinstance(part, str):
        return part
    if isinstance(part, VideoFile):
        if shown_as_frames(section, part):
            return _shown(part.frames, section)
        return {"video": part.sha256, "mime_type": part.mime_type}
    assert isinstance(part, Frames), part
    return {"clip": part.sha256, "times": [float(frame.time_seconds) for frame in part.frames]}
