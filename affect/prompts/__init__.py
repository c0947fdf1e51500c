"""Prompts are text files in this folder, loaded by name and filled in strictly.

    >>> render_segment_prompt(5.28).splitlines()[0]
    'You watch a silent video of 5.3 seconds.'

Places to fill are written `$name` (`string.Template`), so that JSON braces need no escaping; a
dollar sign itself is `$$`. A snapshot test freezes each rendered text: whoever changes a prompt
sees it there and in the hash that every run writes down.
"""

import hashlib
import math
from importlib import resources
from string import Template

from affect.messages import VIDEO_MARK
from affect.taxonomy import DAR_EMOTIONS

_FOLDER = "affect.prompts"


def load_prompt(name: str) -> str:
    """Return the text of `<name>.txt` in this folder: no newline at its end, places unfilled.

    Raises ValueError listing the prompts there are.
    """
    known = prompt_names()
    if name not in known:
        raise ValueError(f"there is no prompt {name!r}; there are: {', '.join(known)}")
    file = resources.files(_FOLDER) / f"{name}.txt"
    return file.read_text(encoding="utf-8").removesuffix("\n")


def prompt_names() -> tuple[str, ...]:
    """Return the names of all prompts, sorted."""
    files = (file.name for file in resources.files(_FOLDER).iterdir())
    return tuple(sorted(name[: -len(".txt")] for name in files if name.endswith(".txt")))


def prompt_hash(name: str) -> str:
    """Return the SHA-256, in hex, of a prompt with everything filled in but what rows fill in.

    That is the file's text with the labels in their place; the clip's duration stays `$duration`.
    """
    text = Template(load_prompt(name)).safe_substitute(labels=_labels())
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def render_segment_prompt(duration_seconds: float) -> str:
    """Return the task's text for one clip, with its duration in one decimal.

    Raises ValueError for a duration that is not finite or has no length in one decimal.
    """
    if not (math.isfinite(duration_seconds) and round(duration_seconds, 1) > 0):
        raise ValueError(
            f"a clip of {duration_seconds!r} s cannot be segmented: times have one decimal, "
            "so it must last more than 0.05 s"
        )
    template = Template(load_prompt("segment"))
    return template.substitute(duration=f"{duration_seconds:.1f}", labels=_labels())


def segment_prompt_text(duration_seconds: float) -> str:
    """The human turn of a row: the video's mark, then the project's prompt."""
    return f"{VIDEO_MARK}\n{render_segment_prompt(duration_seconds)}"


def render_prompt(name: str, **values: str) -> str:
    """Return a prompt with all its places filled; `$labels` is always the 27.

    Raises ValueError for a place without a value and a value without a place.
    """
    template = Template(load_prompt(name))
    places = set(template.get_identifiers()) - {"labels"}
    if places != set(values):
        raise ValueError(
            f"prompt {name!r} has the places {sorted(places)}, values are given for "
            f"{sorted(values)}"
        )
    return template.substitute(values, labels=_labels())


def _labels() -> str:
    return ", ".join(DAR_EMOTIONS)
