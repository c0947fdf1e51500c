"""One call as it is told to whoever keeps the accounts: what was asked, what came, what it cost.

Call(role="describe", model="qwen3_vl", question="describe", key="5f0c...", num_ask=1,
     num_attempt=2, outcome="usable", prompt_tokens=812, completion_tokens=96, cost=0.0021,
     seconds=1.8, from_cache=False)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from affect.llm.chat import FailureKind

Outcome = Literal["usable"] | FailureKind


@dataclass(frozen=True, slots=True)
class Call:
    """question: its name. key: of the reply cache. num_ask: which ask of a chain. num_attempt:
    which try of one request, 0 where none was made.
    outcome: `usable`, or why the try failed or the reply could not be used.
    prompt_tokens, completion_tokens: of the reply; None where there is none or nobody counted.
    cost: paid now; 0 for a reply from the cache, None where it is not known.
    seconds: of the try, without waiting for its turn. from_cache: nothing was asked, also where
    the same question was in flight already for someone else.
    """

    role: str
    model: str
    question: str
    key: str
    num_ask: int
    num_attempt: int
    outcome: Outcome
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    seconds: float
    from_cache: bool

    @property
    def has_reply(self) -> bool:
        """Whether a reply came, of whatever worth. A refusal is one only where its tokens were
        counted: a filter's, before any model was asked, is an HTTP error."""
        if self.outcome == "refused":
            return self.prompt_tokens is not None
        return self.outcome in ("usable", "cut_off", "empty", "off_schema", "too_long")


OnCall = Callable[[Call], None]
"""Called in the event loop, in the context of who asked; for a bought reply before it is kept and
before it is used."""
