"""Text that anybody may have written, as a screen can be given it.

    printable("a\\u202eb")        # 'a\\\\u202eb': what would turn the line around is written out

Escaping for HTML, or keeping to text nodes, is needed besides.
"""

import re

# XML's and HTML's forbidden characters, halves of characters, and what turns text around.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)


def printable(text: str) -> str:
    """Text with what no screen may be given made visible: control characters, halves of
    characters, changes of direction. Line breaks and tabs stay."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
