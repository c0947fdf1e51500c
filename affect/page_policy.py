"""What a page that we write may do in a browser: run its one script, play clips, and no more.

    f'<meta http-equiv="Content-Security-Policy" content="{page_policy(script)}">'

No network, no other script, not even in an attribute: should a text ever get into the markup, it
finds nothing to run with. Clips are files beside the page, or bytes inside it.
"""

import base64
import hashlib


def page_policy(script: str) -> str:
    """A content security policy. script: the text between the tags, to the last character."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'sha256-{digest}'",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "media-src 'self' file: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
