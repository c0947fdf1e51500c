"""How every stage writes times and lists: the pieces of which questions are made.

    seconds(3.04), listed(["a", "b"])     # "3.0", "a, b"

Pictures are shown by `affect.llm.told_pictures`, words of another model go in by
`affect.llm.quoted`.
"""

from collections.abc import Sequence


def seconds(value_seconds: float) -> str:
    """A time as prompts write it: one decimal."""
    return f"{value_seconds:.1f}"


def listed(names: Sequence[str]) -> str:
    """Names that stand in the code, as a list in a sentence: `a, b, c`."""
    return ", ".join(names)
