"""From a prompt with videos to the tensors that a Qwen2.5-VL takes.

Videos are decoded and sampled before (`affect.video.sample_video`), so the processor is never asked
to sample or to resize; each clip's time (`second_per_grid_ts`) comes from the frames really taken.

Example:
    prompt = encode_prompt(processor, segment_messages(9.0), [sampled], name="train/00012")
    prompt.input_ids.shape, prompt.video_grid_thw, prompt.second_per_grid_ts
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from affect.model.tower_cache import StoredClip, UnstoredClip
from affect.prompts import render_segment_prompt
from affect.row import is_stated_duration

if TYPE_CHECKING:  # a model can be had without a video decoder
    from affect.video import SampledVideo

Message = dict[str, Any]


@dataclass(frozen=True)
class PromptInputs:
    """One prompt, ready for the model.

    Shapes: `input_ids` (P,); `pixel_values_videos` (num_patches, patch size) or None without video;
    `video_grid_thw` (V, 3); `second_per_grid_ts` V floats, seconds. Of clips that were stored,
    `pixel_values_videos` holds the tower's features, (num_patches, tower hidden size), instead.
    """

    input_ids: Tensor
    pixel_values_videos: Tensor | None
    video_grid_thw: Tensor
    second_per_grid_ts: tuple[float, ...]
    name: str = ""
    to_store: UnstoredClip | None = None
    """Where the features of its one clip belong, if a cache was asked and did not have them."""

    @property
    def num_tokens(self) -> int:
        """P, the prompt's length in tokens, video tokens included."""
        return int(self.input_ids.shape[0])


def segment_messages(duration_seconds: float) -> list[Message]:
    """The project's prompt for one silent video, as chat messages with a video part."""
    text = render_segment_prompt(duration_seconds)
    return [{"role": "user", "content": [{"type": "video"}, {"type": "text", "text": text}]}]


def check_duration(clip: "SampledVideo | StoredClip", stated_seconds: float, video: str) -> None:
    """Refuse a clip that does not last as long as its row says; `video` names it.

    Raises:
        ValueError: with both durations, where they differ by more than the released data's .15 s.
    """
    if not is_stated_duration(stated_seconds, clip.duration_seconds):
        raise ValueError(
            f"video_duration is {stated_seconds} s, but the pictures of {video} last "
            f"{clip.duration_seconds:.3f} s"
        )


def strip_none_keys(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Messages without the None-valued keys that an Arrow round trip adds to content parts.

    Arrow gives all parts of a list the union of their keys, so a text part comes back with
    `video=None` and a chat template that asks `'video' in part` renders a second video.
    """
    clean: list[Message] = []
    for message in messages:
        content = message["content"]
        if not isinstance(content, str):
            content = [
                {key: value for key, value in part.items() if value is not None} for part in content
            ]
        clean.append({"role": message["role"], "content": content})
    return clean


def encode_prompt(
    processor: Any,
    messages: Sequence[Mapping[str, Any]],
    videos: "Sequence[SampledVideo | StoredClip]",
    *,
    name: str = "",
) -> PromptInputs:
    """Render the chat template up to the assistant's turn and lay the videos' tokens into it.

    Args:
        processor: a Qwen2.5-VL processor.
        messages: chat messages; each `{"type": "video"}` part takes the next of `videos`.
        videos: all sampled, or all with their tower features.
        name: the row's id, for errors.

    Raises:
        ValueError: as `prompt_text`.
    """
    token = processor.video_token
    parts = prompt_text(processor, messages, len(videos), name=name).split(token)
    grids: list[Tensor] = []
    patches: list[Tensor] = []
    merge_unit = processor.video_processor.merge_size**2
    filled = parts[0]
    seconds: list[float] = []
    for video, rest in zip(videos, parts[1:], strict=True):
        if isinstance(video, StoredClip):
            clip_patches, grid = video.features, torch.tensor([video.grid_thw])
            seconds.append(video.second_per_grid)
        else:
            clip_patches, grid = _patches(processor.video_processor, video)
            seconds.append(video.second_per_grid_seconds)
        patches.append(clip_patches)
        grids.append(grid)
        filled += token * (int(grid.prod()) // merge_unit) + rest
    return PromptInputs(
        input_ids=torch.tensor(_token_ids(processor, filled), dtype=torch.long),
        pixel_values_videos=torch.cat(patches) if patches else None,
        video_grid_thw=torch.cat(grids) if grids else torch.zeros(0, 3, dtype=torch.long),
        second_per_grid_ts=tuple(seconds),
        name=name,
    )


def prompt_text(
    processor: Any, messages: Sequence[Mapping[str, Any]], num_videos: int, *, name: str = ""
) -> str:
    """The chat up to the assistant's turn, with one video token in the place of each video.

    Raises:
        ValueError: the prompt has another number of video parts than `num_videos`, or its text
            holds a vision token. A row whose video gets lost on the way must stop the run, not
            train on text alone.
    """
    clean = strip_none_keys(messages)
    text = processor.apply_chat_template(clean, tokenize=False, add_generation_prompt=True)
    token = processor.video_token
    num_places = text.count(token)
    num_parts = sum(
        part.get("type") == "video"
        for message in clean
        if not isinstance(message["content"], str)
        for part in message["content"]
    )
    where = f"row {name}: " if name else ""
    # Both are counted: a text that holds the token itself would pass for a place.
    if not num_videos == num_places == num_parts:
        raise ValueError(
            f"{where}the prompt has {num_places} places for a video ({token}) and {num_parts} "
            f"content parts of type 'video', and {num_videos} videos were given; each video needs "
            "one part, and no text may hold the token"
        )
    if processor.image_token in text:
        raise ValueError(f"{where}still images in a prompt are not supported, only videos")
    rendered: str = text
    return rendered


def count_prompt_tokens(
    processor: Any,
    messages: Sequence[Mapping[str, Any]],
    num_video_tokens: int,
    *,
    name: str = "",
) -> int:
    """`encode_prompt(...).num_tokens` of a prompt with one video of so many tokens, without it.

    Raises:
        ValueError: as `prompt_text`.
    """
    # Special tokens stand around a video, so that what is in its place changes no other token.
    text = prompt_text(processor, messages, 1, name=name)
    return len(_token_ids(processor, text)) - 1 + num_video_tokens


def count_answer_tokens(processor: Any, answer: str) -> int:
    """Tokens of an answer as it is trained, its end token included."""
    return len(_token_ids(processor, answer)) + 1


def _token_ids(processor: Any, text: str) -> list[int]:
    ids: list[int] = processor.tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def _patches(video_processor: Any, video: "SampledVideo") -> tuple[Tensor, Tensor]:
    """Normalised patches (N, patch size) and grid (1, 3) of frames that are sized already."""
    frames = torch.from_numpy(video.frames).permute(0, 3, 1, 2)
    metadata = {
        "total_num_frames": len(frames),
        "fps": video.effective_fps,
        "duration": video.duration_seconds,
        "frames_indices": list(range(len(frames))),
    }
    output = video_processor(
        videos=[frames],
        video_metadata=[metadata],
        do_sample_frames=False,
        do_resize=False,
        cap_pixels_per_frame=False,
        return_tensors="pt",
    )
    return output["pixel_values_videos"], output["video_grid_thw"]


def pad_rows(rows: Sequence[Tensor], value: int, *, side: str) -> tuple[Tensor, Tensor]:
    """Stack 1-d rows to (B, L) with padding on `side` ("left" or "right"), and their mask."""
    longest = max(len(row) for row in rows)
    stacked = torch.full((len(rows), longest), value, dtype=torch.long)
    mask = torch.zeros(len(rows), longest, dtype=torch.long)
    for index, row in enumerate(rows):
        at = longest - len(row) if side == "left" else 0
        stacked[index, at : at + len(row)] = row
        mask[index, at : at + len(row)] = 1
    return stacked, mask


def banned_token_ids(processor: Any) -> list[int]:
    """Ids that a reply may not hold: each would be taken for a picture in a later forward."""
    vocabulary = processor.tokenizer.get_vocab()
    names = [f"<|{name}|>" for name in ("image_pad", "video_pad", "vision_pad")]
    names += ["<|vision_start|>", "<|vision_end|>"]
    return sorted(vocabulary[name] for name in names if name in vocabulary)
