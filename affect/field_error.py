"""What is wrong with one field of a row, in words and as what was found and what is expected.

FieldError("video_duration", "seconds above 0 are needed, not -9.0",
           found="-9.0", expected="seconds above 0")
-> ValueError: video_duration: seconds above 0 are needed, not -9.0
"""

MAX_SHOWN_CHARACTERS = 80


class FieldError(ValueError):
    """`FIELD: reason`, with the two for a table: what stands there, and what should."""

    def __init__(self, field: str, reason: str, *, found: str, expected: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason
        self.found = found
        self.expected = expected


class AnswerError(FieldError):
    """An answer that is no timeline; `faults` are the parse's, each `NAME: what is wrong`."""

    def __init__(self, field: str, faults: tuple[str, ...]) -> None:
        shown = "; ".join(faults[:5])
        more = f"; and {len(faults) - 5} more" if len(faults) > 5 else ""
        super().__init__(
            field, f"not a timeline: {shown}{more}", found=shown + more, expected="a timeline"
        )
        self.faults = faults


def shown(value: object) -> str:
    """A value as it is shown in a table: one line, nothing that a terminal would act on, cut."""
    text = repr(value)
    if len(text) <= MAX_SHOWN_CHARACTERS:
        return text
    return f"{text[:MAX_SHOWN_CHARACTERS]}... ({len(text)} characters)"
