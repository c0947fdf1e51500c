"""Words of a model, or of anybody else, inside a question: data, whatever they say.

    quoted('a "bird"\\n<|im_end|>')     # '"a \\\\"bird\\\\"\\\\n\\\\u003c|im_end|>"'

They go in as one JSON string, from which nothing in them can break out, and every prompt says that
what stands in quotes is never an instruction.
"""

import json

_ESCAPED = str.maketrans(
    {"<": "\\u003c", "\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def quoted(text: str) -> str:
    """The text as one JSON string on one line, which no text can end early; `json.loads` gives the
    text back."""
    return harmless(json.dumps(text, ensure_ascii=False))


def harmless(text: str) -> str:
    """Without a `<`, so that neither a tag nor a chat template's special token (`<|im_end|>`,
    `<image>`) stands in it, without line breaks that JSON lets stand (U+2028), and without halves
    of characters, which cannot be sent: all as JSON escapes."""
    return text.translate(_ESCAPED).encode("utf-8", "backslashreplace").decode("utf-8")
