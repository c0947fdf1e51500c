"""Make rows of somebody else's annotation file, to predict and score on.

    python -m evaluation.import_annotations --file theirs.csv --video-root videos --out rows.jsonl

Reads CSV (one line per segment: video, start, end, emotion, and reason if there is one) and JSON or
JSON Lines of {"video", "segments": [{"start", "end", "emotion", "reason"}], "duration"}. A clip's
duration is found by decoding it where the file gives none. Labels are DAR's 27; others are mapped
by --label-map. Segments that do not cover the clip without gaps are refused by line.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from affect.records import Row, read_rows, write_sft_rows
from affect.video import DECODE_TIMEOUT_SECONDS, GuardedReader
from evaluation.command_line import make_parser, run_command
from evaluation.foreign.annotations import ImportedAnnotations, read_label_map, rows_from

PROG = "import_annotations"


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser(PROG, "Make rows of somebody else's annotation file.")
    parser.add_argument("--file", type=Path, required=True, help="annotations: CSV, TSV, JSON(L)")
    parser.add_argument(
        "--video-root",
        type=Path,
        help="where the file's video paths start (default: the file's folder)",
    )
    parser.add_argument("--out", type=Path, required=True, help="file of rows to write (JSONL)")
    parser.add_argument(
        "--label-map", type=Path, help="YAML of `their label: one of the 27`, one a line"
    )
    parser.add_argument(
        "--merge-equal-neighbours",
        action="store_true",
        help="make one segment of neighbours with the same emotion, as a mapping of many labels to "
        "few leaves them",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a file of rows that holds others"
    )
    parser.add_argument(
        "--decode-timeout-seconds",
        type=float,
        default=DECODE_TIMEOUT_SECONDS,
        help="for one clip; 0 decodes in this process, without a limit",
    )
    return parser.parse_args(argv)


def import_annotations(options: argparse.Namespace) -> int:
    """Run the command; ValueError for whatever its user can put right."""
    if not options.file.is_file():
        raise ValueError(f"{options.file}: there is no such file")
    video_root = options.file.parent if options.video_root is None else options.video_root
    if not video_root.is_dir():
        raise ValueError(f"{video_root}: there is no such folder; name it with --video-root")
    if options.out.exists() and options.out.samefile(options.file):
        raise ValueError(f"--out {options.out}: is the file of annotations itself")
    label_map = None if options.label_map is None else read_label_map(options.label_map)
    with GuardedReader(options.decode_timeout_seconds) as reader:
        imported = rows_from(
            options.file,
            video_root,
            label_map=label_map,
            merge_equal=options.merge_equal_neighbours,
            reader=reader,
        )
    is_new = _write(options.out, imported.rows, options.overwrite)
    sys.stdout.write(f"{options.out}: {'written' if is_new else 'was there already, unchanged'}\n")
    sys.stdout.write(_summary(imported))
    return 0


def _write(path: Path, rows: Sequence[Row], overwrite: bool) -> bool:
    """Write the rows; False where they are there already."""
    if path.exists() and not overwrite:
        try:
            are_there = read_rows(path) == list(rows)
        except ValueError as error:
            raise ValueError(
                f"{path}: is there already and holds no rows; choose another --out ({error})"
            ) from error
        if are_there:
            return False
        raise ValueError(
            f"{path}: is there already and holds other rows; choose another --out, or say "
            "--overwrite (predictions made for the old rows are then of other rows)"
        )
    write_sft_rows(path, rows)
    return True


def _summary(imported: ImportedAnnotations) -> str:
    parts = [
        f"{len(imported.rows)} rows with {imported.num_segments} segments, "
        f"{imported.num_reasons_missing} of them without a reason; "
        f"{imported.num_decoded} durations found by decoding"
    ]
    if imported.mapped_labels:
        labels = sorted(imported.mapped_labels.items())
        parts.append("labels mapped: " + ", ".join(f"{name}: {count}" for name, count in labels))
    if imported.num_merged:
        parts.append(f"{imported.num_merged} segments went into the one before")
    return "".join(part + "\n" for part in parts)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    return run_command(PROG, lambda: import_annotations(options))


if __name__ == "__main__":
    raise SystemExit(main())
