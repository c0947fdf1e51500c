"""Rows of a training run as a `datasets.Dataset`, checked before anything trains.

Example: dataset = load_rows(run.data)  # columns id, video, video_duration, prompt, solution
"""

from typing import Any

from datasets import Dataset
from tqdm.auto import tqdm

from affect.model.inputs import segment_messages, strip_none_keys
from affect.records import Row, read_rows, resolve_video
from affect.video import FrameBudget, probe_video
from train.sections import DataSection


def load_rows(data: DataSection) -> Dataset:
    """Read the rows; each gets TRL's `prompt` and keeps its target as `solution` (JSON text).

    Raises:
        ValueError: no such file, a row that can't be read, has no target, or whose video is missing
            or outside the root; the message names file and line, or the row.
    """
    if not data.rows.is_file():
        raise ValueError(f"data.rows: there is no file {data.rows}")
    rows = read_rows(data.rows)
    if not rows:
        raise ValueError(f"{data.rows}: holds no rows")
    rows = rows[: data.max_rows]
    return Dataset.from_list([_columns(row, data) for row in rows])


def _columns(row: Row, data: DataSection) -> dict[str, Any]:
    if row.timeline is None:
        raise ValueError(f"{data.rows}: row {row.id} has no target to train on")
    if not resolve_video(data.video_root, row.video).is_file():
        raise ValueError(f"{data.rows}: row {row.id}: no video {row.video} under {data.video_root}")
    messages = segment_messages(row.duration_seconds) if data.prompt == "project" else row.prompt
    return {
        "id": row.id,
        "video": row.video,
        "video_duration": row.duration_seconds,
        "prompt": [dict(message) for message in messages],
        "solution": row.timeline.to_json(),
    }


def check_lengths(
    dataset: Dataset, data: DataSection, budget: FrameBudget, processor: Any, max_tokens: int | None
) -> int:
    """Refuse rows that would not fit, before training and without decoding what surely fits.

    A prompt can't have more video tokens than the budget's largest frame times its frame count;
    only rows above the limit by that bound are probed for their true size.

    Returns:
        the longest target's number of tokens, without its end token.

    Raises:
        ValueError: names every row that is too long, with needed and allowed counts.
    """
    too_long: list[str] = []
    longest = 0
    for row in tqdm(dataset, desc="check lengths", unit="row", leave=False):
        text = processor.apply_chat_template(
            strip_none_keys(row["prompt"])
            if data.prompt == "row"
            else segment_messages(row["video_duration"]),
            tokenize=False,
            add_generation_prompt=True,
        )
        # Without the video's one placeholder, in whose place its tokens will stand.
        text = text.replace(processor.video_token, "")
        num_text = len(processor.tokenizer(text, add_special_tokens=False)["input_ids"])
        num_target = len(processor.tokenizer(row["solution"])["input_ids"])
        longest = max(longest, num_target)
        num_answer = num_target + 1
        num_video = _most_video_tokens(budget, row["video_duration"])
        if _excess(num_text + num_video, num_answer, data.max_prompt_tokens, max_tokens):
            info = probe_video(resolve_video(data.video_root, row["video"]))
            num_video = budget.num_video_tokens(
                info.duration_seconds, info.num_frames, info.height, info.width
            )
            excess = _excess(num_text + num_video, num_answer, data.max_prompt_tokens, max_tokens)
            if excess:
                too_long.append(f"  row {row['id']}: {excess}")
    if too_long:
        shown = "\n".join(too_long[:20])
        more = f"\n  and {len(too_long) - 20} more" if len(too_long) > 20 else ""
        raise ValueError(
            f"{len(too_long)} rows of {data.rows} are too long for the token limits:\n"
            f"{shown}{more}\n"
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
