"""Say what each file is, or why it is not a usable video: one line per file, tab-separated.

    python -m affect.video FILE...

They are decoded in a worker process, so that none can hang or crash the command; one that takes
longer than --decode-timeout-seconds is refused.

Example line: `clip.mp4    132 frames    5.280 s    320x180    h264`. Exit status 1 if any file is
refused.
"""

import argparse
import sys

from affect.video.guarded import DECODE_TIMEOUT_SECONDS, GuardedReader
from affect.video.open import VideoError
from affect.video.probe import VideoInfo


def main(arguments: list[str] | None = None) -> int:
    """Probe the files named on the command line; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m affect.video",
        description="Decode each file and print its frames, picture duration, size and decoder.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument(
        "--decode-timeout-seconds",
        type=float,
        default=DECODE_TIMEOUT_SECONDS,
        help="for one file; 0 decodes in this process, without a limit (default: %(default)g)",
    )
    options = parser.parse_args(arguments)
    try:
        reader = GuardedReader(options.decode_timeout_seconds)
    except ValueError as error:
        parser.error(str(error))
    num_refused = 0
    with reader:
        for file in options.files:
            try:
                line = _line(file, reader.probe(file))
            except VideoError as error:
                num_refused += 1
                line = f"{file}\trefused: {error.reason}"
            # A name need not be UTF-8, the terminal is.
            sys.stdout.write(line.encode("utf-8", "backslashreplace").decode() + "\n")
            sys.stdout.flush()
    return 1 if num_refused else 0


def _line(file: str, info: VideoInfo) -> str:
    fields = [
        file,
        "1 frame" if info.num_frames == 1 else f"{info.num_frames} frames",
        f"{info.duration_seconds:.3f} s",
        f"{info.width}x{info.height}",
        info.codec,
    ]
    if info.rotation_degrees:
        fields.append(f"turned {info.rotation_degrees} degrees counterclockwise")
    if info.num_corrupt_frames:
        fields.append(f"{info.num_corrupt_frames} frames patched after damage")
    return "\t".join(fields)


if __name__ == "__main__":
    sys.exit(main())
