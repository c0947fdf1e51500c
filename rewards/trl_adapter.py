"""The terms as TRL's reward functions: five callables that score each completion once.

Example::

    rewards = RewardSet.from_preset("paper")
    GRPOTrainer(
        reward_funcs=rewards.trl_functions(),            # named struct, count, seg, emo, reason
        args=GRPOConfig(reward_weights=rewards.weights, ...),
    )

TRL calls them one after another with the same batch and every column of the rows. It multiplies by
`reward_weights` and adds up (equation 9) before it takes the group's mean and deviation
(equation 3). The columns read here are `solution` (the true timeline's JSON text) and
`video_duration` (seconds); `id` names the row in errors; `dropped` (booleans) marks completions
that are not to count: they get None from every function, which TRL leaves out of the group.
"""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from affect.parsing import parse_reply
from affect.timeline import BOUNDARY_TOLERANCE_SECONDS, RELEASED_TOLERANCE_SECONDS, Timeline

if TYPE_CHECKING:
    from rewards.presets import RewardSet, TermScores

Key = TypeVar("Key")
Value = TypeVar("Value")

_MIN_CACHED_COMPLETIONS = 1024
_MAX_CACHED_TRUTHS = 1024

# The plain types first: it takes ten times as long to ask an abstract class.
_SEQUENCE = (list, tuple, Sequence)
_MAPPING = (dict, Mapping)


class CompletionScorer:
    """Scores completions and remembers the last of them, because five functions ask for each.

    It holds at least two batches, at least 1,024 completions and nothing when unpickled.
    """

    def __init__(self, reward_set: "RewardSet") -> None:
        self.reward_set = reward_set
        self._scores: OrderedDict[tuple[object, ...], TermScores] = OrderedDict()
        self._truths: OrderedDict[tuple[str, float], Timeline] = OrderedDict()

    def __reduce__(self) -> tuple[type["CompletionScorer"], tuple["RewardSet"]]:
        return CompletionScorer, (self.reward_set,)

    def score_batch(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None,
        columns: Mapping[str, Any],
    ) -> "list[TermScores | None]":
        """The scores of each completion in order; None for those that are dropped."""
        limit = max(_MIN_CACHED_COMPLETIONS, 2 * len(completions))
        row_ids = columns.get("id") or range(len(completions))
        solutions = _column(columns, "solution", row_ids)
        durations = _column(columns, "video_duration", row_ids)
        dropped = columns.get("dropped") or [False] * len(completions)
        scores: list[TermScores | None] = []
        for index, completion in enumerate(completions):
            if dropped[index]:
                scores.append(None)
                continue
            row = f"row {row_ids[index]}"
            truth = self._truth(solutions[index], durations[index], row)
            text = completion_text(completion, row)
            prompt = prompt_text(prompts[index])
            num_tokens = None if completion_ids is None else len(completion_ids[index])
            key = (text, num_tokens, solutions[index], durations[index], prompt)
            known = self._scores.get(key)
            if known is None:
                parsed = parse_reply(
                    text,
                    truth.duration_seconds,
                    num_tokens,
                    tolerance_seconds=truth.tolerance_seconds,
                )
                known = self.reward_set.score(parsed, truth, prompt)
                _remember(self._scores, key, known, limit)
            scores.append(known)
        return scores

    def _truth(self, solution: object, duration_seconds: object, row: str) -> Timeline:
        if not isinstance(solution, str) or not solution.strip():
            raise ValueError(f"{row}: `solution` is missing; it is the true timeline's JSON text")
        if isinstance(duration_seconds, bool) or not isinstance(duration_seconds, int | float):
            raise ValueError(f"{row}: `video_duration` is missing; it is the video's in seconds")
        if not (math.isfinite(duration_seconds) and duration_seconds > 0.0):
            raise ValueError(f"{row}: `video_duration` is {duration_seconds}, not above 0 seconds")
        key = (solution, float(duration_seconds))
        truth = self._truths.get(key)
        if truth is None:
            truth = read_truth(solution, float(duration_seconds), row)
            _remember(self._truths, key, truth, _MAX_CACHED_TRUTHS)
        return truth


class TermFunction:
    """One term under TRL's signature; TRL logs it under `__name__`."""

    def __init__(self, name: str, scorer: CompletionScorer) -> None:
        self.__name__ = name
        self.scorer = scorer

    def __repr__(self) -> str:
        return f"TermFunction({self.__name__!r}, preset={self.scorer.reward_set.preset!r})"

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """This term of each completion, in [0, 1], None for dropped ones.

        `columns` are the rows' columns (and what else TRL passes, which is not read). ValueError
        names the row whose `solution` or `video_duration` is missing or not a valid timeline.
        """
        scores = self.scorer.score_batch(prompts, completions, completion_ids, columns)
        return [None if score is None else score[self.__name__] for score in scores]


def read_truth(solution: str, duration_seconds: float, row: str) -> Timeline:
    """The true timeline; rows that only hold at the released data's tolerance keep that one.

    Replies to such a row are then read with the same tolerance, so that the truth itself passes.
    """
    faults: tuple[str, ...] = ()
    for tolerance_seconds in (BOUNDARY_TOLERANCE_SECONDS, RELEASED_TOLERANCE_SECONDS):
        parsed = parse_reply(solution, duration_seconds, tolerance_seconds=tolerance_seconds)
        if parsed.timeline is not None:
            return parsed.timeline
        faults = parsed.faults
    raise ValueError(f"{row}: `solution` is not a valid timeline: {'; '.join(faults)}")


def completion_text(completion: object, row: str = "completion") -> str:
    """The text of a completion: a string, or one assistant message with text content."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, _SEQUENCE) and len(completion) == 1:
        return _content_text(completion[0], row)
    raise ValueError(f"{row}: a completion is a string or a list of one assistant message")


def prompt_text(prompt: object) -> str:
    """All text of a prompt, a string or chat messages; its pictures and videos have none."""
    if isinstance(prompt, str):
        return prompt
    assert isinstance(prompt, _SEQUENCE), f"a prompt is text or messages, not {type(prompt)}"
    return "\n".join([_content_text(message, "prompt") for message in prompt])


def _content_text(message: object, row: str) -> str:
    content = message.get("content") if isinstance(message, _MAPPING) else None
    if isinstance(content, str):
        return content
    if isinstance(content, _SEQUENCE):
        return "".join(
            [part["text"] for part in content if isinstance(part, _MAPPING) and part.get("text")]
        )
    raise ValueError(f"{row}: a message has `content` that is text or a list of parts")


def _column(columns: Mapping[str, Any], name: str, row_ids: Sequence[Any]) -> Sequence[Any]:
    values = columns.get(name)
    if values is None:
        rows = f"rows {row_ids[0]} to {row_ids[-1]}" if row_ids else "the rows"
        raise ValueError(
            f"{rows} have no column `{name}`, which the rewards need (TRL drops columns unless "
            "remove_unused_columns is false)"
        )
    if len(values) != len(row_ids):
        raise ValueError(f"column `{name}` has {len(values)} values for {len(row_ids)} rows")
    column: Sequence[Any] = values
    return column


def _remember(cache: OrderedDict[Key, Value], key: Key, value: Value, limit: int) -> None:
    cache[key] = value
    while len(cache) > limit:  # the oldest goes: batches come one after another
        cache.popitem(last=False)
