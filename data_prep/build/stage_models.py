"""The models of one stage of one video: who is asked is the same, on whose account differs.

    models = StageModels(role_models, "clips/1.mp4", "describe", stop)
    await models.ask("describe", question, DescribeReply)
    asking_for()                        # ("clips/1.mp4", "describe") for whoever is told of calls

Nothing new is asked once the run is to stop; what was asked before is waited for.
"""

import sqlite3
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path

from affect.llm.chat import Answer, Models, Question, ReplyT
from data_prep.build.run_video import BuildBrokenError, RunStoppedError
from data_prep.build.schema import explain

_ASKING_FOR: ContextVar[tuple[str, str]] = ContextVar("asking_for")


def asking_for() -> tuple[str, str]:
    """The video and the stage on whose account the current task asks."""
    return _ASKING_FOR.get()


class StageModels(Models):
    """replies: file of the reply cache, for messages. is_stopped: asked before each question."""

    def __init__(
        self,
        models: Models,
        video: str,
        stage: str,
        replies: Path,
        is_stopped: Callable[[], bool],
    ) -> None:
        self._models = models
        self._account = (video, stage)
        self._replies = replies
        self._is_stopped = is_stopped

    async def ask(
        self,
        role: str,
        question: Question,
        reply_type: type[ReplyT],
        check: Callable[[ReplyT], None] | None = None,
    ) -> Answer[ReplyT]:
        """Raises RunStoppedError, BuildBrokenError for a cache that can't be used, and what the
        models raise."""
        if self._is_stopped():
            raise RunStoppedError
        token = _ASKING_FOR.set(self._account)
        try:
            return await self._models.ask(role, question, reply_type, check)
        except sqlite3.Error as error:
            raise BuildBrokenError(explain(self._replies, error)) from error
        finally:
            _ASKING_FOR.reset(token)
