"""Which request is answered wrong, and how: every fault that servers and models show in the wild.

    plan = FaultPlan(share=0.3, seed=7)
    plan.fault("9f2c...", times=0, kinds=kinds_for(is_json=True))     # "reset_within"
    plan.fault("9f2c...", times=1, kinds=kinds_for(is_json=True))     # None: it is answered

A plan is a function of its seed, the request's digest and how often that request has come, so a run
can be repeated; and as no request meets more than `most_in_a_row` faults before it is answered, a
client that tries again that often loses nothing.
"""

import hashlib
from dataclasses import dataclass, replace

SERVER_FAULTS = (
    "rate_limited", "rate_limited_seconds", "rate_limited_date", "server_error", "unavailable",
    "hang", "reset_before", "reset_within",
)  # fmt: skip
"""429 without Retry-After, with one in seconds, with one as a date; 500; 503; no answer at all;
the connection reset before the answer, and after the first half of it."""

REPLY_FAULTS = ("cut_off", "null_at_limit", "empty", "refused", "blocked", "no_usage")
"""Cut off at the token limit; nothing but the limit's mark; no text; refused by the model (OpenAI's
`refusal`, Gemini's `SAFETY`); stopped by a filter (`content_filter`, `promptFeedback`); and a right
reply whose tokens nobody counted."""

JSON_FAULTS = ("fenced", "not_a_number", "wrong_schema", "unknown_key", "missing_key")
"""Where JSON was asked for: in a code fence; with NaN; a value of another type; a key too many; a
needed key too few (of a judge: one dimension)."""

LASTING_FAULTS = ("bad_request", "not_allowed")
"""400 and 401: no client should try again, so they come only when named (`--always`)."""

FAULTS = SERVER_FAULTS + REPLY_FAULTS + JSON_FAULTS + LASTING_FAULTS


def kinds_for(is_json: bool) -> tuple[str, ...]:
    """The faults that can be drawn for a request whose right reply is JSON, or is not."""
    return SERVER_FAULTS + REPLY_FAULTS + (JSON_FAULTS if is_json else ())


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """share: of requests that meet a fault, 0 to 1. always: the one kind there is, or None for any.
    most_in_a_row: after so many faults a request is answered; None sets no end. by_model: a model
    that is called like a fault always meets it, so that one server shows each kind alone.
    """

    share: float = 0.0
    seed: int = 0
    always: str | None = None
    most_in_a_row: int | None = 2
    by_model: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ValueError(f"the share of faults lies between 0 and 1, not {self.share}")
        if self.always is not None and self.always not in FAULTS:
            raise ValueError(f"there is no fault {self.always!r}; there are: {', '.join(FAULTS)}")

    def for_model(self, model: str) -> "FaultPlan":
        """The plan for requests to this model."""
        if self.by_model and model in FAULTS:
            return replace(self, share=1.0, always=model)
        return self

    def fault(self, digest: str, times: int, kinds: tuple[str, ...]) -> str | None:
        """The fault that this request meets, having come `times` times before; None for none."""
        in_a_row = 0
        is_hit = False
        for time in range(times + 1):
            may = self.most_in_a_row is None or in_a_row < self.most_in_a_row
            is_hit = may and self._draw(digest, time, "share") < self.share
            in_a_row = in_a_row + 1 if is_hit else 0
        if not is_hit:
            return None
        if self.always is not None:
            # A fence needs JSON to stand around, and so on: what cannot be is not done.
            return None if self.always in JSON_FAULTS and self.always not in kinds else self.always
        return kinds[int(self._draw(digest, times, "kind") * len(kinds))]

    def _draw(self, digest: str, time: int, what: str) -> float:
        """Evenly spread over [0, 1)."""
        text = f"{self.seed}/{digest}/{time}/{what}"
        number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")
        return number / 2**48
