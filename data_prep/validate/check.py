"""Check all rows of a file: read every line, decode every video once, several at a time.

Example:
    with GuardedReader(120.0) as reader:
        report = check_file(Path("a.jsonl"), Path("videos"), Settings(), reader, num_workers=8)
    report.faults      # () when all is well
"""

from collections import defaultdict
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from affect.field_error import shown
from affect.row import is_stated_duration
from affect.timeline import RELEASED_TOLERANCE_SECONDS
from affect.video import GuardedReader, VideoError
from affect.video.measure import MeasuredVideo, measure_video
from affect.video_path import resolve_video
from data_prep.validate.fault import Fault
from data_prep.validate.lines import RowLine, read_lines
from data_prep.validate.settings import Settings
from data_prep.validate.tokens import RowTokens, TokenCounter


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """A line that holds an object; measured and tokens are None where its video can't be used."""

    line: RowLine
    measured: MeasuredVideo | None
    tokens: RowTokens | None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything found in a file. rows and faults are in the order of its lines."""

    settings: Settings
    rows: tuple[CheckedRow, ...]
    faults: tuple[Fault, ...]
    num_lines: int
    num_videos: int


def check_file(
    path: Path,
    video_root: Path,
    settings: Settings,
    reader: GuardedReader,
    *,
    num_workers: int,
    show_progress: bool = True,
) -> Report:
    """Check every row and the video it names.

    A path that leaves `video_root` is a fault and is not opened. Videos are decoded by the
    reader, `num_workers` at once. Ctrl-C closes it, which ends its workers, and goes on to the
    caller.

    Raises ValueError for settings that can't be used, OSError where the file can't be read.
    """
    counter = TokenCounter(settings)
    lines, faults = read_lines(path, needs_answer=settings.needs_answer)
    num_lines = len({line.number for line in lines} | {fault.line for fault in faults} - {0})
    lines_of_video: dict[Path, list[RowLine]] = defaultdict(list)
    for line in lines:
        if line.video is None:
            continue
        try:
            lines_of_video[resolve_video(video_root, line.video)].append(line)
        except ValueError as error:
            reason = str(error).removeprefix("video: ")
            faults.append(Fault(line.number, line.id, "video", reason, "a path inside the root"))
    checked = {line.number: CheckedRow(line, None, None) for line in lines}
    outcomes = _measure(list(lines_of_video), settings, reader, num_workers, show_progress)
    for video, outcome in outcomes:
        for line in lines_of_video[video]:
            if isinstance(outcome, VideoError):
                faults.append(Fault(line.number, line.id, "video", _reason(line, outcome), _WHOLE))
                continue
            tokens, token_faults = counter.count(line, outcome)
            faults += _measure_faults(line, outcome, settings) + token_faults
            checked[line.number] = CheckedRow(line, outcome, tokens)
    faults.sort(key=lambda fault: fault.line)  # stable: within a line in the order of checking
    return Report(settings, tuple(checked.values()), tuple(faults), num_lines, len(lines_of_video))


_WHOLE = "a video that decodes whole"


def _measure(
    videos: list[Path],
    settings: Settings,
    reader: GuardedReader,
    num_workers: int,
    show_progress: bool,
) -> list[tuple[Path, MeasuredVideo | VideoError]]:
    outcomes: list[tuple[Path, MeasuredVideo | VideoError]] = []
    with (
        # Threads wait; the workers that they wait for are processes.
        ThreadPoolExecutor(num_workers) as pool,
        tqdm(total=len(videos), desc="validate", unit="video", disable=not show_progress) as bar,
    ):
        running: dict[Future[MeasuredVideo], Path] = {
            pool.submit(reader.call, measure_video, video, settings.video): video
            for video in videos
        }
        try:
            for done in as_completed(running):
                try:
                    outcomes.append((running[done], done.result()))
                except VideoError as error:
                    outcomes.append((running[done], error))
                bar.update()
        except BaseException:  # also Ctrl-C: nothing is left running behind
            reader.close()
            pool.shutdown(cancel_futures=True)
            raise
    return outcomes


def _reason(line: RowLine, error: VideoError) -> str:
    return f"{shown(line.video)}: {error.reason}"


def _measure_faults(line: RowLine, measured: MeasuredVideo, settings: Settings) -> list[Fault]:
    faults: list[Fault] = []
    stated, decoded = line.duration_seconds, measured.duration_seconds
    if stated is not None and not is_stated_duration(stated, decoded):
        expected = (
            f"{decoded:.3f} s, as its {measured.num_frames} frames last "
            f"(within {RELEASED_TOLERANCE_SECONDS:g} s)"
        )
        faults.append(Fault(line.number, line.id, "video_duration", f"{stated:g} s", expected))
    allowed = settings.max_corrupt_frames
    if allowed is not None and measured.num_corrupt_frames > allowed:
        found = f"{measured.num_corrupt_frames} of {measured.num_frames} frames patched"
        expected = f"at most {allowed} patched after damage"
        faults.append(Fault(line.number, line.id, "video", found, expected))
    return faults
