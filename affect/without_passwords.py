"""Text that may hold an address with a password in it, as a message or a file may show it.

    >>> without_passwords("--base_url https://me:secret@host:8000/v1")
    '--base_url https://***@host:8000/v1'

Keys come from the environment; a password that somebody writes into an address all the same is to
reach the server and nobody else.
"""

import re

_USER = re.compile(r"(?<=://)[^/\s?#]*@")


def without_passwords(text: str) -> str:
    """The text with `***` for whatever stands before an address's host."""
    return _USER.sub("***@", text)
