"""All that the builder wants from a clip's picture, in one decode of the file.

    text = look_at("clip.mp4", settings.model_dump_json(), "builds/vce/frames/0a1b.zip")
    Looked.from_json(text)          # and the frames for models lie in the pack

Settings and record travel as JSON, so that the function can run in a guarded decode worker, where
no file can hang or crash the builder.
"""

from pathlib import Path

import cv2

from affect.video.container import container_mime_type
from affect.video.decode import DecodePass
from affect.video.open import VideoPath
from affect.video.probe import describe
from affect.video.sample import packet_timing
from data_prep.build.config import PictureSection
from data_prep.clip import write_pack
from data_prep.picture.purposes import Findings, Purposes
from data_prep.picture.wanted import WantedFrames
from data_prep.picture.watch import watch
from data_prep.records import Looked


def look_at(path: VideoPath, settings_json: str, pack_path: str) -> str:
    """The `Looked` of a file, as JSON; its pack is written.

    settings_json: a `PictureSection`. Raises VideoError for a file that does not decode whole; no
    pack is written then.
    """
    # More threads would fight over the cores with the other workers, and save nothing at this size.
    cv2.setNumThreads(1)
    settings = PictureSection.model_validate_json(settings_json)
    decode, found, num_decode_passes = find(path, settings)
    info = describe(decode)
    looked = Looked(
        num_frames=info.num_frames,
        duration_seconds=info.duration_seconds,
        width=info.width,
        height=info.height,
        codec=info.codec,
        mime_type=container_mime_type(path),
        perceptual_hash=found.fingerprint,
        motion=found.motion,
        cuts=found.cuts,
        frame_times_seconds=tuple(frame.time_seconds for frame in found.frames),
        num_decode_passes=num_decode_passes,
    )
    write_pack(Path(pack_path), found.frames)
    return looked.canonical_json()


def find(path: VideoPath, settings: PictureSection) -> tuple[DecodePass, Findings, int]:
    """The finished pass, what was found, and how often the file was decoded for it: once, or twice
    where its packets' stamps do not tell which frames it shows. Raises VideoError."""
    expected = WantedFrames.of(packet_timing(path), settings)
    purposes = Purposes.of(settings, expected)
    decode = watch(path, purposes.all, settings)
    wanted, num_decode_passes = WantedFrames.of(decode.timing, settings), 1
    if not expected.covers(wanted):
        purposes = Purposes.of(settings, wanted)
        decode = watch(path, purposes.all, settings)
        num_decode_passes = 2
    return decode, purposes.findings(decode.timing, wanted), num_decode_passes
