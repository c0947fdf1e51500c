"""The two presets, and what a reply is worth under one: equation 9.

Example::

    rewards = RewardSet.from_preset("hardened", remove=("count",))
    scores = rewards.score(parse_reply(text, 9.0, num_tokens=310), truth)
    scores["seg"], scores.total        # .73, and the weighted sum without the count term
    GRPOTrainer(reward_funcs=rewards.trl_functions(), ...)  # reward_weights=rewards.weights

`paper` is equations 4 to 9 to the letter. `hardened` pays for the same five things, and pays only
where they were done: see `docs/rewards.md`.
"""

import difflib
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from affect.parsing import ParsedReply
from affect.timeline import Timeline
from rewards import count, emotion, reason, segmentation, structure
from rewards.comparison import Comparison
from rewards.constants import PAPER, TERMS
from rewards.trl_adapter import CompletionScorer, TermFunction

Term = Callable[[Comparison], float]

PRESETS: Mapping[str, Mapping[str, Term]] = MappingProxyType(
    {
        "paper": MappingProxyType(
            {
                "struct": structure.paper,
                "count": count.paper,
                "seg": segmentation.paper,
                "emo": emotion.paper,
                "reason": reason.paper,
            }
        ),
        "hardened": MappingProxyType(
            {
                "struct": structure.hardened,
                "count": count.hardened,
                "seg": segmentation.hardened,
                "emo": emotion.hardened,
                "reason": reason.hardened,
            }
        ),
    }
)


@dataclass(frozen=True, slots=True)
class TermScores(Mapping[str, float]):
    """The five terms, each in [0, 1], and their weighted sum; reads as a mapping too.

    All five are measured whatever the weights are, so that a run without a term can be watched in
    it; `total` is the sum over the terms that are kept.
    """

    struct: float
    count: float
    seg: float
    emo: float
    reason: float
    total: float

    def __getitem__(self, name: str) -> float:
        if name not in _SCORE_NAMES:
            raise KeyError(name)
        value: float = getattr(self, name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(_SCORE_NAMES)

    def __len__(self) -> int:
        return len(_SCORE_NAMES)


_SCORE_NAMES = (*TERMS, "total")


@dataclass(frozen=True, slots=True)
class RewardSet:
    """A preset with its weights; immutable and picklable.

    `terms` are the names that are kept, in the order of equation 9.
    """

    preset: str
    terms: tuple[str, ...]
    term_weights: tuple[float, ...]

    @classmethod
    def from_preset(
        cls,
        name: str,
        weights: Mapping[str, float] | None = None,
        remove: Collection[str] = (),
    ) -> "RewardSet":
        """A preset under its name, with some weights replaced and some terms left out.

        What is left keeps its weight, as in the paper's ablations (Appendix G, Table 7): without
        `count` the best total is .75, not 1. ValueError for names that do not exist, for weights
        that are negative or not finite, and where nothing is left.
        """
        if isinstance(remove, str):
            raise ValueError(f'remove: give a list of terms, such as ["{remove}"], not a string')
        _known("preset", name, PRESETS)
        for term in (*(weights or {}), *remove):
            _known("reward term", term, TERMS)
        merged = {**PAPER.weights, **(weights or {})}
        for term, weight in merged.items():
            if not _is_weight(weight):
                raise ValueError(
                    f"weight of {term} is {weight!r}: give a finite number of at least 0"
                )
        kept = tuple(term for term in TERMS if term not in remove)
        if not any(merged[term] for term in kept):
            raise ValueError("no reward term is left with a weight above 0: remove fewer terms")
        return cls(name, kept, tuple(float(merged[term]) for term in kept))

    @property
    def weights(self) -> list[float]:
        """The weights of `terms` in their order, as TRL's `reward_weights` takes them."""
        return list(self.term_weights)

    def score(self, parsed: ParsedReply, truth: Timeline, prompt_text: str = "") -> TermScores:
        """What one reply is worth beside its truth.

        `prompt_text` is what the model was asked, by which the hardened preset recognises reasons
        copied from it. ValueError if `parsed.num_tokens` is None (equation 4 needs it).
        """
        comparison = Comparison(parsed, truth, prompt_text)
        values = {name: term(comparison) for name, term in PRESETS[self.preset].items()}
        total = math.fsum(
            weight * values[name]
            for name, weight in zip(self.terms, self.term_weights, strict=True)
        )
        return TermScores(**values, total=total)

    def trl_functions(self) -> list[TermFunction]:
        """One callable per kept term for TRL's `reward_funcs`; they parse each completion once."""
        scorer = CompletionScorer(self)
        return [TermFunction(name, scorer) for name in self.terms]


def _known(kind: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ValueError(f"unknown {kind} {name!r}: {hint}there are {', '.join(names)}")


def _is_weight(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value >= 0.0
