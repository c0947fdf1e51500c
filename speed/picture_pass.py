"""What it saves to decode a clip once for all picture stages: CPU seconds against a pass for each.

    python -m speed.picture_pass --json
    {"clip": "drawn, 1280x720, 75 frames", "picture_cpu_ratio": 3.0, "decode_passes": 1, ...}
    python -m speed.picture_pass --clip holiday.mp4

Both ways run the same code on the same analysis pixels and must find the same, to the last byte of
the frames for models; they differ in nothing but the decoding: ours shows one decode to all
purposes, the other decodes for each purpose anew (perceptual hashes; flow and stillness; cuts and
fades; frames for models), as four separate tools do. The other way, too, scales within the
decoder's colour conversion, and only the frames that a purpose looks at; tools that first turn
every frame into a whole-size RGB picture cost more, so the ratio is on the low side.

CPU seconds are the process's, all threads counted, the fastest of some rounds in turn; each decoder
has one thread.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import cv2

from affect.video import DecodePass
from affect.video.decode import Frames
from affect.video.sample import packet_timing
from data_prep.build.config import PictureSection
from data_prep.picture.one_pass import find
from data_prep.picture.purposes import Findings, Purposes
from data_prep.picture.wanted import WantedFrames
from data_prep.picture.watch import Watcher, watch
from speed.drawn_clip import describe_drawn_clip, draw_clip

SETTINGS = PictureSection()
NUM_ROUNDS = 3


@dataclass
class DecodeCount:
    """num_passes: how many whole decodes were begun."""

    num_passes: int = 0


@contextmanager
def counted_decodes() -> Iterator[DecodeCount]:
    """Counts the decode passes within, wherever they are started."""
    count = DecodeCount()
    begin = DecodePass.__iter__

    def counting(decode: DecodePass) -> Frames:
        count.num_passes += 1
        return begin(decode)

    with patch.object(DecodePass, "__iter__", counting):
        yield count


def find_in_one_pass(clip: Path) -> Findings:
    return find(clip, SETTINGS)[1]


def find_in_a_pass_each(clip: Path) -> Findings:
    """The same, with a decode for each purpose."""
    timing = packet_timing(clip)
    wanted = WantedFrames.of(timing, SETTINGS)
    purposes = Purposes.of(SETTINGS, wanted)
    passes: tuple[tuple[Watcher, ...], ...] = (
        (purposes.hashes,),
        (purposes.flow, purposes.stillness),
        (purposes.boundaries,),
        (purposes.kept,),
    )
    for watchers in passes:
        decode = watch(clip, watchers, SETTINGS)
    assert wanted.covers(WantedFrames.of(decode.timing, SETTINGS)), "its packets do not tell"
    return purposes.findings(decode.timing, wanted)


def compare_picture_passes(clip: Path, num_rounds: int = NUM_ROUNDS) -> dict[str, Any]:
    """picture_cpu_ratio: CPU seconds of a pass each over those of one pass. decode_passes:
    counted in ours. results_equal: whether both found the same."""
    cv2.setNumThreads(1)
    with counted_decodes() as ours:
        found = find_in_one_pass(clip)
    with counted_decodes() as theirs:
        results_equal = find_in_a_pass_each(clip) == found
    one_seconds, each_seconds = [], []
    for _ in range(num_rounds):
        one_seconds.append(_cpu_seconds(find_in_one_pass, clip))
        each_seconds.append(_cpu_seconds(find_in_a_pass_each, clip))
    one, each = min(one_seconds), min(each_seconds)
    return {
        "picture_cpu_ratio": round(each / one, 2),
        "decode_passes": ours.num_passes,
        "decode_passes_each": theirs.num_passes,
        "cpu_seconds_one_pass": round(one, 3),
        "cpu_seconds_a_pass_each": round(each, 3),
        "results_equal": results_equal,
    }


def _cpu_seconds(look: Callable[[Path], Findings], clip: Path) -> float:
    started = time.process_time()
    look(clip)
    return time.process_time() - started


def main(arguments: list[str] | None = None) -> int:
    """Print the comparison; the exit status is 1 if the two ways differ."""
    parser = argparse.ArgumentParser(prog="python -m speed.picture_pass", description=__doc__)
    parser.add_argument("--clip", type=Path, help="by default one is drawn at 1280x720")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        clip = options.clip or draw_clip(Path(folder) / "drawn.mp4")
        name = str(options.clip) if options.clip else describe_drawn_clip()
        result = {"clip": name} | compare_picture_passes(clip)
    if options.json:
        sys.stdout.write(json.dumps(result) + "\n")
    else:
        sys.stdout.writelines(f"{key}: {value}\n" for key, value in result.items())
    return 0 if result["results_equal"] else 1


if __name__ == "__main__":
    sys.exit(main())
