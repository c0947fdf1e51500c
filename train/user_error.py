"""Which errors are a user's to mend, and therefore shown as one line without a traceback.

A ValueError that our own code raised says what to do about it. One that comes out of a library in
the middle of training does not, and where it came from is then the most useful part of it.

Example: `is_users_mistake(error)` is True for "row a: no video a.mp4 under data".
"""

import traceback
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[1]
_OUR_FOLDERS = ("affect", "data_prep", "evaluation", "publish", "rewards", "train")


def is_users_mistake(error: ValueError) -> bool:
    """Whether the innermost frame of the error lies in a package of ours."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return False
    place = Path(frames[-1].filename).resolve()
    return any(place.is_relative_to(_CHECKOUT / folder) for folder in _OUR_FOLDERS)
