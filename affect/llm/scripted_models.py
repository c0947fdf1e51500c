"""Models whose replies a function writes: for tests of stages, without server or network.

    def answer(role: str, question: Question, num_ask: int) -> str:
        return '{"genre": "Sports", "scene": "outdoor"}'

    models = ScriptedModels(answer)
    record = await tag.function(grounded, TagSection(), models)
    models.questions[0][0]                    # "tag"

Replies go the way of a real server's with structured output: the same strict reading, the same
`check`, the same asking again, the same failures.
"""

from collections.abc import Callable
from typing import Any

from affect.llm.ask_until_usable import ask_until_usable
from affect.llm.chat import Answer, Models, Question, ReplyT
from affect.llm.reply import Reply


class ScriptedModels(Models):
    """answer: (role, question, num_ask from 1) -> the reply's text, "" for an empty one; what it
    raises (a `ModelFailure`) reaches the stage. The model's name is `scripted_<role>`.

    questions: all that was asked so far, asking again included.
    """

    def __init__(self, answer: Callable[[str, Question, int], str], max_asks: int = 3) -> None:
        self._answer = answer
        self._max_asks = max_asks
        self.questions: list[tuple[str, Question]] = []

    async def reply(
        self, role: str, question: Question, schema: dict[str, Any] | None = None
    ) -> Reply:
        """As `RoleModels.reply`; the schema goes to nobody."""
        self.questions.append((role, question))
        return _reply(self._answer(role, question, 1))

    async def ask(
        self,
        role: str,
        question: Question,
        reply_type: type[ReplyT],
        check: Callable[[ReplyT], None] | None = None,
    ) -> Answer[ReplyT]:
        async def get_reply(asked: Question, num_ask: int) -> Reply:
            self.questions.append((role, asked))
            return _reply(self._answer(role, asked, num_ask))

        return await ask_until_usable(
            get_reply, f"scripted_{role}", question, reply_type, check, self._max_asks
        )


def _reply(text: str) -> Reply:
    return Reply(text, "complete" if text.strip() else "empty")
