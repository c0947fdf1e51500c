"""Scripted answers whose texts say which question they belong to, in white space at their end.

    python -m affect.llm.scripted --api openai --answers tests.data_prep.build.marked_answers:answer

So what a reply cache holds can be held against a server's log of what it answered.
"""

import json
from typing import Any

from tests.data_prep.scripted_answers import answer as unmarked_answer

NUM_DIGITS = 12
"""Of a digest, that the white space spells."""


def answer(
    name: str, texts: list[str], num_pictures: int, schema: dict[str, Any] | None, digest: str
) -> str:
    """The reply as JSON, and after it the start of the digest: a bit per space or tab."""
    bits = f"{int(digest[:NUM_DIGITS], 16):0{4 * NUM_DIGITS}b}"
    mark = bits.replace("0", " ").replace("1", "\t")
    return json.dumps(unmarked_answer(name, texts, num_pictures, schema, digest)) + mark


def mark_of(text: str) -> str:
    """The start of the digest that a reply's text was marked with."""
    spaces = text[-4 * NUM_DIGITS :]
    assert not spaces.strip(), text
    bits = spaces.replace(" ", "0").replace("\t", "1")
    return f"{int(bits, 2):0{NUM_DIGITS}x}"
