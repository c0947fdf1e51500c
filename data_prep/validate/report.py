"""What was found, as a table for people and as JSON for programs.

    row        field           found   expected
    3 bikes    video_duration  12 s    10.000 s, as its 250 frames last (within 0.15 s)

Example: `sys.stdout.write(json.dumps(as_json(report, path, root)))`
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from data_prep.validate.check import CheckedRow, Report
from data_prep.validate.fault import Fault

NOT_COUNTED = "text not counted (give --model)"


def fault_table(report: Report) -> Table:
    """One line per fault."""
    table = Table()
    for name in ("row", "field", "found", "expected"):
        table.add_column(name, overflow="fold")
    for fault in report.faults:
        cells = (_row_name(fault), fault.field, fault.found, fault.expected)
        table.add_row(*(Text(_printable(cell)) for cell in cells))
    return table


def summary(report: Report, path: Path) -> str:
    """Some lines: how many rows, faults and videos, and the longest row against the limits."""
    num_faulty = len({fault.line for fault in report.faults})
    head = f"{path}: {report.num_lines} rows, {report.num_videos} videos: "
    head += "no faults" if not report.faults else f"{len(report.faults)} faults in {num_faulty}"
    lines = [head, _tokens_line(report)]
    patched = [row for row in report.rows if row.measured and row.measured.num_corrupt_frames]
    if patched:
        lines.append(
            f"rows with a video whose frames were patched after damage: {len(patched)}; it counts "
            "as whole, and --max-corrupt-frames 0 makes it a fault"
        )
    return "".join(f"{line}\n" for line in lines)


def _tokens_line(report: Report) -> str:
    settings = report.settings
    counted = [row.tokens for row in report.rows if row.tokens is not None]
    most_video = max((tokens.num_video for tokens in counted), default=None)
    if most_video is None:
        return "tokens: not counted, as no video can be used"
    prompts = [tokens.num_prompt for tokens in counted if tokens.num_prompt is not None]
    limit = f"of {settings.max_prompt_tokens} allowed"
    if not prompts:
        return f"tokens: at most {most_video} of a video, {limit} in a prompt; {NOT_COUNTED}"
    line = f"tokens: at most {max(prompts)} {limit} in a prompt"
    together = [
        tokens.num_prompt + tokens.num_answer
        for tokens in counted
        if tokens.num_prompt is not None and tokens.num_answer is not None
    ]
    if together and settings.max_tokens is not None:
        line += f", {max(together)} of {settings.max_tokens} in prompt and answer"
    return line


def as_json(report: Report, path: Path, video_root: Path) -> dict[str, Any]:
    """Everything; what was not counted is null."""
    return {
        "file": str(path),
        "video_root": str(video_root),
        "settings": report.settings.model_dump(mode="json"),
        "num_rows": report.num_lines,
        "num_faulty_rows": len({fault.line for fault in report.faults if fault.line}),
        "num_faults": len(report.faults),
        "num_videos": report.num_videos,
        "faults": [asdict(fault) for fault in report.faults],
        "rows": [_row_json(row) for row in report.rows],
    }


def _row_json(row: CheckedRow) -> dict[str, Any]:
    measured, tokens = row.measured, row.tokens
    return {
        "line": row.line.number,
        "id": row.line.id,
        "video": row.line.video,
        "measured": None if measured is None else asdict(measured),
        "num_video_tokens": None if tokens is None else tokens.num_video,
        "num_prompt_tokens": None if tokens is None else tokens.num_prompt,
        "num_answer_tokens": None if tokens is None else tokens.num_answer,
    }


def _row_name(fault: Fault) -> str:
    place = str(fault.line) if fault.line else "-"
    return place if fault.id is None else f"{place} {fault.id}"


def _printable(text: str) -> str:
    """Without what a terminal would act on or could not write."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
