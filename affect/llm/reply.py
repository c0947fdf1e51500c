"""A model's reply as its server gave it: unread text, how it ended, what it used.

    Reply(text='{"genre": "Sports"}', finish="complete", prompt_tokens=812, completion_tokens=9)

Such a reply was paid for, whether or not anything can be made of it; so it is what the cache keeps,
and what it is worth is judged anew each time it is read (`read_reply`).
"""

from dataclasses import dataclass
from typing import Literal

Finish = Literal["complete", "cut_off", "refused", "empty"]
"""complete: the model ended by itself and wrote something. cut_off: at the token limit, with or
without text. refused: by the model, or by a filter around it. empty: nothing but white space."""

FINISHES: tuple[str, ...] = Finish.__args__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Reply:
    """text: "" where the server gave none. prompt_tokens, completion_tokens: as the server counted
    them, None where it did not say. detail: the server's words for a reply that did not end well.
    """

    text: str
    finish: Finish
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    detail: str = ""

    def __post_init__(self) -> None:
        if self.finish == "complete" and not self.text.strip():
            raise ValueError("a reply without text is empty or cut_off, never complete")
