"""Refuse keys that nobody reads, and say which known key was probably meant.

check_known(run.trainer, grpo_config_field_names, where="trainer")
# ValueError: trainer: unknown key "lerning_rate"; did you mean "learning_rate"?
"""

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word closest to `word`, or None where nothing comes close."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def check_known(keys: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raises ValueError that names every key that is not known, with the nearest known one.

    For free-form sections, whose reader knows the names: `where` is the section's name.
    """
    names = sorted(known)
    unknown = [key for key in keys if key not in names]
    if unknown:
        lines = (
            f'{where}: unknown key "{key}"; {hint(nearest(key, names), names)}' for key in unknown
        )
        raise ValueError("\n".join(lines))


def hint(guess: str | None, known: Iterable[str]) -> str:
    """The half sentence after an unknown key: the guess, or else the known keys."""
    return f'did you mean "{guess}"?' if guess else f"known keys: {', '.join(known)}"
