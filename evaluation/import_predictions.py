"""Take in another system's replies, so that it is a run like any other.

    python -m evaluation.import_predictions --file theirs.json --rows test.sft.jsonl \\
        --system Videmo --out runs/videmo --name test

Reads JSON Lines, a JSON list, JSON keyed by id, and CSV (one line per segment: video, start, end,
emotion, and reason if there is one), ms-swift's results and this project's own files among them,
and writes RUN/predictions/NAME.jsonl, whose header says where it comes from. Replies stay as they
came. Rows without an entry are missing, which scores count; an entry without a reply is a failed
row. Exit code 1 says that rows failed.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from affect.file_hash import sha256_of_file
from affect.first_fault import first_fault
from affect.records import Row, read_rows
from affect.run_folder import RunFolder
from evaluation.command_line import SOME_FAILED, file_name, make_parser, run_command
from evaluation.foreign.importing import SETTINGS, Source, Survey, survey_source, write_import
from evaluation.foreign.row_matching import RowMatcher
from evaluation.predictions import PredictionHeader

PROG = "import_predictions"


def read_options(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command's options; a mistake in them ends with exit code 2."""
    parser = make_parser(PROG, "Take in another system's replies to a file of rows.")
    parser.add_argument("--file", type=Path, required=True, help="their replies: JSON(L), CSV, TSV")
    parser.add_argument("--rows", type=Path, required=True, help="JSONL of the rows they answer")
    parser.add_argument("--system", required=True, help="how the other system is called")
    parser.add_argument(
        "--out", type=Path, required=True, help="run folder that gets predictions/NAME.jsonl"
    )
    parser.add_argument("--name", type=file_name, required=True, help="of the file of predictions")
    parser.add_argument(
        "--video-root",
        type=Path,
        help="where the rows' video paths start (default: the rows file's folder)",
    )
    parser.add_argument(
        "--format",
        choices=["auto", "json", "jsonl", "csv"],
        default="auto",
        help="of the file; auto goes by its name and first line",
    )
    parser.add_argument(
        "--id-field",
        help="field that says which row an entry is of (default: id, video_id, video, videos or "
        "path, whichever is there first)",
    )
    parser.add_argument(
        "--reply-field",
        help="field with the reply (default: text, response, prediction, output, answer or "
        "raw_output, else messages, else segments)",
    )
    parser.add_argument(
        "--skip-unknown", action="store_true", help="leave out entries that are of none of the rows"
    )
    options = parser.parse_args(argv)
    if not options.system.strip():
        parser.error("--system needs a name")
    return options


def import_predictions(options: argparse.Namespace) -> int:
    """Run the command; ValueError for whatever its user can put right."""
    rows = read_rows(options.rows)
    if not rows:
        raise ValueError(f"{options.rows}: there is no row in it")
    source = Source(
        options.file,
        RowMatcher(rows),
        options.format,
        options.id_field,
        options.reply_field,
        options.skip_unknown,
    )
    survey = survey_source(source, {row.id: row for row in rows})
    path = RunFolder(options.out).predictions(options.name)
    is_new = write_import(path, _header(options, survey), source)
    sys.stdout.write(f"{path}: {'written' if is_new else 'was there already, unchanged'}\n")
    sys.stdout.write(_summary(options.system, rows, survey))
    return SOME_FAILED if survey.failed else 0


def _header(options: argparse.Namespace, survey: Survey) -> PredictionHeader:
    theirs = survey.header or {}
    known: dict[str, Any] = {name: theirs[name] for name in SETTINGS if name in theirs}
    origin: dict[str, Any] = {
        "engine": "imported",
        "reply": survey.reply_kind,
        "source_file": options.file.name,
        "source_sha256": sha256_of_file(options.file),
        "matched_by": dict(sorted(survey.matched_by.items())),
        "id_fields": dict(sorted(survey.id_fields.items())),
        "reply_fields": dict(sorted(survey.reply_fields.items())),
        "num_unknown_skipped": survey.num_unknown,
    }
    if survey.header is not None:
        origin["source_header"] = dict(theirs)
    video_root = options.rows.parent if options.video_root is None else options.video_root
    try:
        return PredictionHeader(
            model=options.system,
            rows=str(options.rows),
            rows_sha256=sha256_of_file(options.rows),
            video_root=str(video_root),
            **known,
            **origin,
        )
    except ValidationError as error:
        raise ValueError(f"{options.file}:1: header field {first_fault(error)}") from error


def _summary(system: str, rows: Sequence[Row], survey: Survey) -> str:
    num_matched = len(survey.answered) + len(survey.failed)
    num_missing = len(rows) - num_matched
    lines = [
        f"{system}: {len(rows)} rows, {num_matched} matched ({_counts(survey.matched_by)}), "
        f"{len(survey.failed)} of them failed; {num_missing} missing; "
        f"{survey.num_unknown} entries of unknown rows left out",
        f"replies: {len(survey.answered)} ({survey.reply_kind}), segments can be read in "
        f"{survey.num_readable}, {survey.num_strict} are strict timelines"
        + (f"; first faults: {_counts(survey.faults)}" if survey.faults else ""),
    ]
    return "".join(line + "\n" for line in lines)


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.most_common(5)) or "none"


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = read_options(argv)
    return run_command(PROG, lambda: import_predictions(options))


if __name__ == "__main__":
    raise SystemExit(main())
