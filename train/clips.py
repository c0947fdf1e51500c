"""From a row to the model's inputs: decode, sample, render the prompt. One place for both trainers.

Example:
    store = ClipStore(processor, run.data, run.video, guarded_reader(run.data, folder))
    prompt = store.prompt({"id": "a", "video": "videos/a.mp4", "video_duration": 9.0, ...})
"""

from collections.abc import Mapping, Sequence
from typing import Any

from affect.model.inputs import PromptInputs, check_duration, encode_prompt, segment_messages
from affect.records import resolve_video
from affect.run_folder import RunFolder
from affect.video import ClipCache, FrameBudget, GuardedReader, Quarantine, SampledVideo
from train.sections import DataSection


def guarded_reader(data: DataSection, folder: RunFolder) -> GuardedReader:
    """The reader of a run: within `data.decode_timeout_seconds`, with the run's quarantine."""
    return GuardedReader(data.decode_timeout_seconds, Quarantine(folder.quarantine))


class ClipStore:
    """Decoded clips and the prompts made of them.

    Frames are kept in memory up to `data.clip_cache_megabytes`, so later epochs decode nothing
    that still fits. `num_decodes` counts the decodes really done. Without a `reader` this process
    decodes, with no limit of time.
    """

    def __init__(
        self,
        processor: Any,
        data: DataSection,
        budget: FrameBudget,
        reader: GuardedReader | None = None,
    ) -> None:
        self.processor = processor
        self.data = data
        self.budget = budget
        self.reader = reader or GuardedReader(None)
        self._cache = ClipCache(data.clip_cache_megabytes * 2**20, self.reader.sample)

    @property
    def num_decodes(self) -> int:
        """How many clips were decoded so far, repeats after an eviction included."""
        return self._cache.num_decodes

    def video(self, row: Mapping[str, Any]) -> SampledVideo:
        """The row's sampled clip.

        Raises:
            ValueError: the clip can't be decoded, or does not last as long as the row says.
        """
        try:
            path = resolve_video(self.data.video_root, row["video"])
            clip = self._cache.get(path, self.budget)
            check_duration(clip, float(row["video_duration"]), row["video"])
        except ValueError as error:
            raise ValueError(f"row {row['id']}: {error}") from error
        return clip

    def prompt(self, row: Mapping[str, Any]) -> PromptInputs:
        """The row's prompt with its video, up to where the reply begins.

        Raises:
            ValueError: as `video`, or the prompt has no place for the video, or it is longer than
                `data.max_prompt_tokens`.
        """
        clip = self.video(row)
        messages: Sequence[Mapping[str, Any]] = (
            segment_messages(clip.duration_seconds)
            if self.data.prompt == "project"
            else row["prompt"]
        )
        prompt = encode_prompt(self.processor, messages, [clip], name=str(row["id"]))
        if prompt.num_tokens > self.data.max_prompt_tokens:
            raise ValueError(
                f"row {row['id']}: its prompt has {prompt.num_tokens} tokens, "
                f"{self.data.max_prompt_tokens} are allowed; lower video.max_frames or "
                "video.max_pixels, or raise data.max_prompt_tokens"
            )
        return prompt
