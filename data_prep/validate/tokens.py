"""How many tokens a row takes, counted as training does, and whether that is within the limits.

Example:
    counter = TokenCounter(settings)
    tokens, faults = counter.count(line, measured)
    tokens.num_video, tokens.num_prompt, tokens.num_answer       # 330, 571, 148
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from affect.prompts import render_segment_prompt
from affect.video.measure import MeasuredVideo
from data_prep.validate.fault import Fault
from data_prep.validate.lines import RowLine
from data_prep.validate.settings import Settings


@dataclass(frozen=True, slots=True)
class RowTokens:
    """num_prompt: video included; num_answer: with its end token. None where it was not counted:
    there is no tokenizer, or no prompt or answer to count."""

    num_video: int
    num_prompt: int | None
    num_answer: int | None


class TokenCounter:
    """Counts with the model's own processor; without one it counts the video only.

    Raises ValueError where the settings' model is no folder with a processor.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.processor: Any = None
        if settings.model is not None:
            # Never asked of a hub: a name with a mistake would wait minutes for it.
            if not settings.model.is_dir():
                raise ValueError(f"{settings.model}: no such model folder")
            try:
                # Only now: torch takes seconds to import, and is not needed to count a video.
                from affect.model.loading import load_processor
            except ImportError as error:
                raise ValueError(
                    f"--model needs torch and transformers ({error}): "
                    "pip install 'dynamic-affective-reasoning[eval]', or leave it away"
                ) from error
            self.processor = load_processor(settings.model)

    def count(self, line: RowLine, measured: MeasuredVideo) -> tuple[RowTokens, list[Fault]]:
        """The row's tokens, and what is wrong with them."""
        num_video = measured.num_video_tokens
        num_prompt = num_answer = None
        faults: list[Fault] = []
        try:
            num_prompt = self._count_prompt(line, measured)
        except ValueError as error:
            expected = "a prompt for one video"
            faults.append(Fault(line.number, line.id, "prompt", str(error), expected))
        if self.processor is not None and line.answer is not None:
            from affect.model.inputs import count_answer_tokens

            num_answer = count_answer_tokens(self.processor, line.answer)
        tokens = RowTokens(num_video, num_prompt, num_answer)
        faults += [
            Fault(line.number, line.id, "tokens", found, expected)
            for found, expected in self._excess(tokens)
        ]
        return tokens, faults

    def _count_prompt(self, line: RowLine, measured: MeasuredVideo) -> int | None:
        """None where there is no tokenizer, or no prompt. Raises ValueError for one of no use."""
        if self.settings.prompt == "project":
            render_segment_prompt(measured.duration_seconds)  # raises for a clip without length
        if self.processor is None:
            return None
        from affect.model.inputs import count_prompt_tokens, segment_messages

        messages: Sequence[Mapping[str, Any]] | None = line.prompt
        if self.settings.prompt == "project":
            messages = segment_messages(measured.duration_seconds)
        if messages is None:
            return None
        return count_prompt_tokens(self.processor, messages, measured.num_video_tokens)

    def _excess(self, tokens: RowTokens) -> list[tuple[str, str]]:
        limit, together = self.settings.max_prompt_tokens, self.settings.max_tokens
        found: list[tuple[str, str]] = []
        if tokens.num_prompt is None:
            if tokens.num_video > limit:
                what = f"{tokens.num_video} of the video alone (text not counted)"
                found.append((what, f"at most {limit} in the prompt"))
        elif tokens.num_prompt > limit:
            what = f"{tokens.num_prompt} in the prompt, {tokens.num_video} of them the video"
            found.append((what, f"at most {limit} in the prompt"))
        if together is not None and tokens.num_prompt is not None and tokens.num_answer is not None:
            num_all = tokens.num_prompt + tokens.num_answer
            if num_all > together:
                what = f"{num_all}: prompt {tokens.num_prompt}, answer {tokens.num_answer}"
                found.append((what, f"at most {together} in prompt and answer"))
        return found
