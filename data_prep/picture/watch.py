"""Show the frames of one decode to all who want to see them.

hashes, boundaries = Hashes(wanted), Boundaries(cut_threshold=27.0, fade_threshold=12.0)
decode = watch("clip.mp4", [hashes, boundaries], PictureSection())
boundaries.cuts(decode.timing)
"""

from collections.abc import Sequence
from typing import Protocol

from affect.video.decode import DecodePass
from affect.video.open import VideoPath
from data_prep.build.config import PictureSection
from data_prep.picture.view import View, Viewer


class Watcher(Protocol):
    """Sees every frame once, in the decoder's order, and keeps only what is small."""

    def see(self, stamp: int, view: View) -> None: ...


def watch(path: VideoPath, watchers: Sequence[Watcher], settings: PictureSection) -> DecodePass:
    """Decode the file once; the finished pass, with its timing. Only the frame at hand is held.

    Raises VideoError for a file that does not decode whole; what the watchers saw is then not to
    be used.
    """
    decode = DecodePass(path)
    viewer = Viewer(decode, settings)
    for stamp, frame in decode:
        view = View(viewer, frame)
        for watcher in watchers:
            watcher.see(stamp, view)
    return decode
