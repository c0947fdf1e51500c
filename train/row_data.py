"""Rows of a training run as a `datasets.Dataset`, checked before anything trains.

Example: dataset = load_rows(run.data)  # columns id, video, video_duration, prompt, solution
"""

from typing import Any

from datasets import Dataset
from tqdm.auto import tqdm

from affect.model.inputs import count_answer_tokens, count_prompt_tokens, segment_messages
from affect.records import Row, read_rows, resolve_video
from affect.video import FrameBudget, GuardedReader, VideoError, probe_video
from train.run_start import warn
from train.sections import DataSection


def load_rows(data: DataSection, *, is_resumed: bool = False) -> Dataset:
    """Read the rows; each gets TRL's `prompt` and keeps its target as `solution` (JSON text).

    Raises:
        ValueError: no such file, a row that can't be read or has no target, or a video outside the
            root; the message names file and line, or the row. Also, with all of them named, rows
            whose video is missing, unless they are to be replaced: when a run `is_resumed` that
            replaces bad clips, or with `data.on_bad_clip: replace_always`.
    """
    if not data.rows.is_file():
        raise ValueError(f"data.rows: there is no file {data.rows}")
    rows = read_rows(data.rows)
    if not rows:
        raise ValueError(f"{data.rows}: holds no rows")
    rows = rows[: data.max_rows]
    missing = [
        f"  row {row.id}: no video {row.video} under {data.video_root}"
        for row in rows
        if not resolve_video(data.video_root, row.video).is_file()
    ]
    _meet_bad_clips(missing, data, is_resumed)
    return Dataset.from_list([_columns(row, data) for row in rows])


def _columns(row: Row, data: DataSection) -> dict[str, Any]:
    if row.timeline is None:
        raise ValueError(f"{data.rows}: row {row.id} has no target to train on")
    messages = segment_messages(row.duration_seconds) if data.prompt == "project" else row.prompt
    return {
        "id": row.id,
        "video": row.video,
        "video_duration": row.duration_seconds,
        "prompt": [dict(message) for message in messages],
        "solution": row.timeline.to_json(),
    }


def _meet_bad_clips(bad: list[str], data: DataSection, is_resumed: bool = False) -> None:
    """Stop for clips that are bad at start, or leave them to be replaced; all are named."""
    if not bad:
        return
    text = f"{len(bad)} rows of {data.rows} have a clip that can't be used:\n{_shortened(bad)}"
    if data.on_bad_clip == "replace_always" or (is_resumed and data.on_bad_clip == "replace"):
        warn(f"{text}\nother rows will take their places")
        return
    raise ValueError(
        f"{text}\nmend the clips or take the rows out; with data.on_bad_clip: replace_always other "
        "rows take their places"
    )


def _shortened(lines: list[str]) -> str:
    more = f"\n  and {len(lines) - 20} more" if len(lines) > 20 else ""
    return "\n".join(lines[:20]) + more


def check_lengths(
    dataset: Dataset,
    data: DataSection,
    budget: FrameBudget,
    processor: Any,
    max_tokens: int | None,
    reader: GuardedReader | None = None,
    *,
    is_resumed: bool = False,
) -> int:
    """Refuse rows that would not fit, before training and without decoding what surely fits.

    A prompt can't have more video tokens than the budget's largest frame times its frame count;
    only rows above the limit by that bound are probed for their true size, through `reader` where
    there is one. When a run `is_resumed` they were probed before it first trained, and are not
    again.

    Returns:
        the longest target's number of tokens, without its end token.

    Raises:
        ValueError: names every row that is too long, with needed and allowed counts, or every row
            whose video can't be decoded (see `load_rows`); or a row whose prompt has no place for
            its video.
    """
    reader = reader or GuardedReader(None)
    too_long: list[str] = []
    bad: list[str] = []
    longest = 0
    for row in tqdm(dataset, desc="check lengths", unit="row", leave=False):
        messages = (
            row["prompt"] if data.prompt == "row" else segment_messages(row["video_duration"])
        )
        num_text = count_prompt_tokens(processor, messages, 0, name=row["id"])
        num_answer = count_answer_tokens(processor, row["solution"])
        longest = max(longest, num_answer - 1)
        num_video = _most_video_tokens(budget, row["video_duration"])
        may_be_too_long = _excess(
            num_text + num_video, num_answer, data.max_prompt_tokens, max_tokens
        )
        if may_be_too_long and not is_resumed:
            path = resolve_video(data.video_root, row["video"])
            if data.on_bad_clip == "replace_always" and not path.is_file():
                continue  # named already
            try:
                info = reader.call(probe_video, path)
            except VideoError as error:
                bad.append(f"  row {row['id']}: {error}")
                continue
            num_video = budget.num_video_tokens(
                info.duration_seconds, info.num_frames, info.height, info.width
            )
            excess = _excess(num_text + num_video, num_answer, data.max_prompt_tokens, max_tokens)
            if excess:
                too_long.append(f"  row {row['id']}: {excess}")
    _meet_bad_clips(bad, data)
    if too_long:
        raise ValueError(
            f"{len(too_long)} rows of {data.rows} are too long for the token limits:\n"
            f"{_shortened(too_long)}\n"
            "lower video.max_frames or video.max_pixels, raise the limit, or take the rows out"
        )
    return longest


def _most_video_tokens(budget: FrameBudget, duration_seconds: float) -> int:
    num_frames = budget.num_frames(duration_seconds, available_frames=10**6)
    return budget.num_grids(num_frames) * (
        budget.max_pixels // (budget.patch_size * budget.merge_size) ** 2
    )


def _excess(num_prompt: int, num_answer: int, max_prompt: int, max_all: int | None) -> str | None:
    if num_prompt > max_prompt:
        return f"its prompt needs {num_prompt} tokens, {max_prompt} are allowed"
    if max_all is not None and num_prompt + num_answer > max_all:
        return f"prompt and answer need {num_prompt} + {num_answer} tokens, {max_all} are allowed"
    return None
