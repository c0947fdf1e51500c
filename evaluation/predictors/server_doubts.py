"""Whose fault a failure is: the row's, or that of a server that is not there or lets nobody in.

    doubts = ServerDoubts("gpt-4o at api.openai.com")
    doubts.failed("a", failure)      # {}: may be the server's, so nothing is said of the row yet
    doubts.replied()                 # {"a": Answer(None, error="connection: ...")}: it was not

A wrong key would fail all rows one by one, and each would look as if something were wrong with it.
So failures that say something of a server are held back until the server shows that it is there. It
is given up on, and what is held back is written nowhere, when

- it lets nobody in (401, 403) or does not know the model (404) before its first reply, or
- `MAX_FAILURES_IN_A_ROW` rows fail that way, or with no connection, no answer in time, or a
  server's error (5xx, or something else than an answer) after all tries, and no other comes between
  them, or
- such failures are all that there was.
"""

from affect.llm.chat import LASTING_KINDS, ModelFailure
from evaluation.predictions import Answer

DOUBTFUL_KINDS = LASTING_KINDS | {"connection", "timeout", "server_error"}
MAX_FAILURES_IN_A_ROW = 8


class ServerGoneError(ValueError):
    """The server, its address or the key has to be put right; no row's fault."""


class ServerDoubts:
    """server: what to call it in an error."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._held: dict[str, Answer] = {}
        self._last: ModelFailure | None = None
        self.has_replied = False

    def replied(self) -> dict[str, Answer]:
        """A reply came from the server: what was held back is the rows' own fault."""
        self.has_replied = True
        return self._release()

    def failed(self, row_id: str, failure: ModelFailure) -> dict[str, Answer]:
        """Returns the failed rows that may be written now. Raises ServerGoneError."""
        answer = Answer(None, error=f"{failure.kind}: {failure.detail}")
        if failure.kind not in DOUBTFUL_KINDS:
            return {**self._release(), row_id: answer}
        self._held[row_id] = answer
        self._last = failure
        if failure.kind in LASTING_KINDS and not self.has_replied:
            raise self._gone()
        if len(self._held) >= MAX_FAILURES_IN_A_ROW:
            raise self._gone(f"{len(self._held)} rows in a row failed, the last with ")
        return {}

    def end(self) -> dict[str, Answer]:
        """All rows are through. Returns what was held back; raises ServerGoneError where the server
        has never replied."""
        if self._held and not self.has_replied:
            raise self._gone()
        return self._release()

    def _release(self) -> dict[str, Answer]:
        held, self._held = self._held, {}
        return held

    def _gone(self, before: str = "") -> ServerGoneError:
        assert self._last is not None
        return ServerGoneError(
            f"{self._server}: {before}{self._last.kind}: {self._last.detail}; "
            "these rows stay unanswered: put it right and start the same command again"
        )
