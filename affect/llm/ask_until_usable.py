"""Asking for a reply until one can be used: the loop that every implementation of `Models` shares.

    answer = await ask_until_usable(get_reply, "qwen3_vl", question, TagReply, check, max_asks=3)

Each further ask is the first question again, with why the reply before could not be used and that
reply quoted. It is thus another question, with a key of its own in the reply cache, and a chain of
asks replays from the cache as it went the first time.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from affect.llm.chat import Answer, ModelFailure, Question, ReplyT
from affect.llm.quoted import harmless, quoted
from affect.llm.read_reply import UnusableReplyError, read_reply
from affect.llm.reply import Reply
from affect.prompts import render_prompt

MAX_QUOTED_CHARACTERS = 4000
"""Of the earlier reply. The start of one that ran away is enough to see what went wrong."""
MAX_REASON_CHARACTERS = 1000
"""A reason may name keys that the model made up, of any length."""

GetReply = Callable[[Question, int], Awaitable[Reply]]
"""The reply to a question; the number of the ask counts from 1."""


async def ask_until_usable(
    get_reply: GetReply,
    model: str,
    question: Question,
    reply_type: type[ReplyT],
    check: Callable[[ReplyT], None] | None,
    max_asks: int,
    allow_fence: bool = False,
) -> Answer[ReplyT]:
    """Raises ModelFailure of the last reply's kind after `max_asks` replies, and whatever
    `get_reply` raises."""
    assert max_asks >= 1, max_asks
    asked = question
    for num_ask in range(1, max_asks + 1):
        reply = await get_reply(asked, num_ask)
        try:
            value = read_reply(reply, reply_type, check, allow_fence)
        except UnusableReplyError as error:
            unusable = error
            asked = ask_again(question, reply, error.reason, num_ask + 1)
        else:
            return Answer(value, model, num_ask)
    asks = "1 reply was" if max_asks == 1 else f"{max_asks} replies were"
    detail = f"{asks} asked for ({question.name}); the last could not be used: {unusable.reason}"
    raise ModelFailure(unusable.kind, model, detail)


def ask_again(question: Question, reply: Reply, reason: str, num_ask: int) -> Question:
    """The question with the reason and the unusable reply, quoted as one JSON string."""
    earlier = reply.text[:MAX_QUOTED_CHARACTERS]
    if len(earlier) < len(reply.text):
        earlier += f" [... {len(reply.text) - len(earlier)} characters more]"
    text = render_prompt(
        "ask_again",
        num_ask=str(num_ask),
        reason=harmless(" ".join(reason.split())[:MAX_REASON_CHARACTERS]),
        quoted=quoted(earlier),
    )
    return replace(question, parts=(*question.parts, text))
