"""The progress bar, and one readable line per logged step in place of a dictionary.

Example: `step 12/100  reward 0.71 (struct 1.00 count 0.62 seg 0.55 emo 0.40 reason 0.52)  kl 0.012`
"""

from collections.abc import Mapping
from typing import Any

from transformers import ProgressCallback

_TERMS = ("struct", "count", "seg", "emo", "reason")
# Log keys shown if they are there, with the word they go by and their format; all of them are in
# metrics.jsonl under their full names.
_SHOWN = (
    ("loss", "loss", ".4f"),
    ("reward", "reward", ".3f"),
    ("rewards/total/within_group_std", "spread", ".3f"),
    ("frac_reward_zero_std", "groups without spread", ".0%"),
    ("kl", "kl", ".4f"),
    ("mean_token_accuracy", "token accuracy", ".1%"),
    ("completions/mean_length", "tokens", ".0f"),
    ("completions/clipped_ratio", "cut off", ".0%"),
    ("completions/num_dropped", "dropped", ".0f"),
    ("grad_norm", "grad norm", ".2f"),
)


class ReadableProgress(ProgressCallback):  # type: ignore[misc]
    """transformers' bar, with the few numbers a person watches."""

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kw: Any
    ) -> None:
        """Write the line above the bar, on the main process."""
        if state.is_world_process_zero and self.training_bar is not None and logs:
            line = progress_line(logs, state.global_step, state.max_steps)
            if line:
                self.training_bar.write(line)


def progress_line(logs: Mapping[str, Any], step: int, max_steps: int) -> str | None:
    """The line for one logged step; None for a log without a step's numbers."""
    if "loss" not in logs:
        return None
    parts = [f"step {step}/{max_steps}"]
    for key, word, form in _SHOWN:
        value = logs.get(key)
        if value is None or (word == "loss" and "reward" in logs):
            continue  # GRPO's loss is near 0 by construction and tells nothing
        part = f"{word} {float(value):{form}}"
        if word == "reward":
            terms = [
                f"{name} {logs[f'rewards/{name}/mean']:.2f}"
                for name in _TERMS
                if logs.get(f"rewards/{name}/mean") is not None
            ]
            part += f" ({' '.join(terms)})" if terms else ""
        parts.append(part)
    return "  ".join(parts)
