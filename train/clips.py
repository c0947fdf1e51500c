"""From a row to the model's inputs: decode, sample, render the prompt. One place for both trainers.

Example:
    store = ClipStore(processor, run.data, run.video, guarded_reader(run.data, folder))
    prompt = store.prompt({"id": "a", "video": "videos/a.mp4", "video_duration": 9.0, ...})
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from affect.model.inputs import PromptInputs, check_duration, encode_prompt, segment_messages
from affect.model.tower_cache import StoredClip, TowerCache, UnstoredClip
from affect.records import resolve_video
from affect.run_folder import RunFolder
from affect.video import (
    ClipCache,
    FrameBudget,
    GuardedReader,
    Quarantine,
    SampledVideo,
    VideoError,
)
from affect.video.open import DecoderEndedError
from train.sections import DataSection
from train.stages import stage


class BadClipError(ValueError):
    """A row's clip can't be read, or is no longer what the row says; its text names the row.

    reason: without the row. broken_file: the file, if it can't be decoded by anybody.
    """

    reason = ""
    broken_file: Path | None = None


def guarded_reader(data: DataSection, folder: RunFolder) -> GuardedReader:
    """The reader of a run: within `data.decode_timeout_seconds`, with the run's quarantine."""
    return GuardedReader(data.decode_timeout_seconds, Quarantine(folder.quarantine))


class ClipStore:
    """Decoded clips and the prompts made of them.

    Frames are kept in memory up to `data.clip_cache_megabytes`, so later epochs decode nothing
    that still fits. `num_decodes` counts the decodes really done. Without a `reader` this process
    decodes, with no limit of time. A clip that `tower_cache` has is not decoded at all.
    """

    def __init__(
        self,
        processor: Any,
        data: DataSection,
        budget: FrameBudget,
        reader: GuardedReader | None = None,
        tower_cache: TowerCache | None = None,
    ) -> None:
        self.processor = processor
        self.data = data
        self.budget = budget
        self.reader = reader or GuardedReader(None)
        self.tower_cache = tower_cache
        self._cache = ClipCache(data.clip_cache_megabytes * 2**20, self.reader.sample)

    @property
    def num_decodes(self) -> int:
        """How many clips were decoded so far, repeats after an eviction included."""
        return self._cache.num_decodes

    def video(self, row: Mapping[str, Any]) -> SampledVideo:
        """The row's sampled clip.

        Raises:
            BadClipError: the clip can't be decoded, or does not last as long as the row says.
            ValueError: the row's path leads out of the root.
        """
        try:
            path = resolve_video(self.data.video_root, row["video"])
        except ValueError as error:
            raise ValueError(f"row {row['id']}: {error}") from error
        try:
            with stage("decode", [str(row["id"])]):
                clip = self._cache.get(path, self.budget)
            check_duration(clip, float(row["video_duration"]), row["video"])
        except ValueError as error:
            is_broken = isinstance(error, VideoError) and not isinstance(error, DecoderEndedError)
            raise _bad_clip(row, str(error), path if is_broken else None) from error
        return clip

    def quarantine(self, error: BadClipError) -> None:
        """Note the file in the run's quarantine, if it is broken for everybody."""
        if error.broken_file is not None:
            self.reader.quarantine.note(error.broken_file, error.reason)

    def prompt(self, row: Mapping[str, Any]) -> PromptInputs:
        """The row's prompt with its video, up to where the reply begins.

        Raises:
            BadClipError: as `video`, or the prompt is longer than `data.max_prompt_tokens`; rows
                that were too long at the start have stopped the run there.
            ValueError: the prompt has no place for the video.
        """
        key, stored = self._stored(row)
        clip = stored or self.video(row)
        messages: Sequence[Mapping[str, Any]] = (
            segment_messages(clip.duration_seconds)
            if self.data.prompt == "project"
            else row["prompt"]
        )
        prompt = encode_prompt(self.processor, messages, [clip], name=str(row["id"]))
        if prompt.num_tokens > self.data.max_prompt_tokens:
            raise _bad_clip(
                row,
                f"its prompt has {prompt.num_tokens} tokens, {self.data.max_prompt_tokens} are "
                "allowed; lower video.max_frames or video.max_pixels, or raise "
                "data.max_prompt_tokens",
            )
        if key is not None and stored is None:
            path = resolve_video(self.data.video_root, row["video"])
            prompt = replace(prompt, to_store=UnstoredClip(path, key, clip.duration_seconds))
        return prompt

    def _stored(self, row: Mapping[str, Any]) -> tuple[str | None, StoredClip | None]:
        """The row's key in the tower cache and what is there.

        Raises:
            BadClipError: the clip there does not last as long as the row says.
        """
        if self.tower_cache is None:
            return None, None
        try:
            path = resolve_video(self.data.video_root, row["video"])
            key = self.tower_cache.key(path)
            stored = self.tower_cache.get(path)
        except ValueError:  # no such file: `video` says so in its own words
            return None, None
        try:
            if stored is not None:
                check_duration(stored, float(row["video_duration"]), row["video"])
        except ValueError as error:
            raise _bad_clip(row, str(error)) from error
        return key, stored


def _bad_clip(row: Mapping[str, Any], reason: str, file: Path | None = None) -> BadClipError:
    error = BadClipError(f"row {row['id']}: {reason}")
    error.reason = reason
    error.broken_file = file
    return error
