"""From measures to words, and from words to an emotion: the whole table behind a draft's labels.

    words_of(Look(0.18, 0.09, 0.30, -0.12, 0.071))     # ("dark", "flat", "colourful", "cold", ...)
    suggest(("dark", "cold", "fast"), allowed=())      # Suggestion("Fear", rule=RULES[0])

The first rule whose words all hold decides. The table is a convention, after what light, colour and
pace are commonly said to do to a viewer; no person was asked, and no video's content is known to
it. That is why what it says is called a draft everywhere.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from affect.taxonomy import DAR_EMOTIONS
from data_prep.draft.measures import Look

# Word -> measure, and the range [low, high) in which the word is said.
WORDS: dict[str, tuple[str, float, float]] = {
    "dark": ("brightness", 0.0, 0.25),
    "bright": ("brightness", 0.55, 1.01),
    "flat": ("contrast", 0.0, 0.10),
    "hard": ("contrast", 0.25, 1.0),
    "grey": ("saturation", 0.0, 0.08),
    "colourful": ("saturation", 0.25, 1.01),
    "cold": ("warmth", -1.01, -0.05),
    "warm": ("warmth", 0.05, 1.01),
    "still": ("motion", 0.0, 0.01),
    "slow": ("motion", 0.01, 0.06),
    "fast": ("motion", 0.06, 1.01),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """words: all of them must hold; () always does."""

    words: tuple[str, ...]
    emotion: str

    def __str__(self) -> str:
        return f"{' and '.join(self.words) or 'nothing else'}: {self.emotion}"


RULES: tuple[Rule, ...] = (
    Rule(("dark", "fast"), "Fear"),
    Rule(("dark", "warm"), "Nostalgia"),
    Rule(("dark", "grey"), "Sadness"),
    Rule(("dark",), "Anxiety"),
    Rule(("fast", "colourful"), "Excitement"),
    Rule(("fast", "hard"), "Surprise"),
    Rule(("bright", "warm", "colourful"), "Joy"),
    Rule(("grey", "flat"), "Boredom"),
    Rule(("colourful", "still"), "Aesthetic Appreciation"),
    Rule(("cold", "slow"), "Calmness"),
    Rule(("cold", "still"), "Calmness"),
    Rule(("bright", "slow"), "Satisfaction"),
    Rule((), "Interest"),
)
"""In order; the last one always holds."""

assert {rule.emotion for rule in RULES} <= set(DAR_EMOTIONS)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """rule: which decided; None where none of them names an emotion that is allowed, so that the
    strongest label stands."""

    emotion: str
    rule: Rule | None


def words_of(look: Look) -> tuple[str, ...]:
    """The words that hold, in the table's order; none about motion where it was not measured."""
    said = []
    for word, (measure, low, high) in WORDS.items():
        value = getattr(look, measure)
        if value is not None and low <= value < high:
            said.append(word)
    return tuple(said)


def suggest(words: Collection[str], allowed: Sequence[str]) -> Suggestion:
    """The first rule that holds and whose emotion is allowed.

    allowed: strongest first; () allows all. Where no rule holds for any of them: the strongest.
    """
    for rule in RULES:
        if set(rule.words) <= set(words) and (not allowed or rule.emotion in allowed):
            return Suggestion(rule.emotion, rule)
    return Suggestion(allowed[0], None)
