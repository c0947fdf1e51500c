"""Our GRPO step against a plain one on one GPU; `speed/gpu_check.sh` runs it within 8 minutes.

A Qwen2.5-VL-3B of random weights in bf16, one clip of 14 seconds at 2 frames a second, 8
completions of 512 tokens. *Ours*: the tower once, the prompt once per group in sampling and in
each log-prob pass, flex attention. *Plain*: every completion with its own copy of prompt and clip.
Each stage prints what it found as it ends; one that fails is named, and the others still run.

    python -m speed.gpu_check --out gpu_check.json
    python -m speed.gpu_check --self-check       # a tiny model on the CPU: does the check run?

`seconds` are of a second run, the first compiles (`first_seconds`). `share_of_matrix_rate` is the
least arithmetic of the stage (`speed/grpo_floor.py`, what must be done once counted once) by its
seconds and by what a large product of bf16 matrices reaches on the device.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

SIZES: dict[str, Any] = {
    "num_frames": 28,
    "height": 336,
    "width": 588,
    "fps": 2.0,
    "num_text": 500,
}
TINY_SIZES: dict[str, Any] = {
    "num_frames": 4,
    "height": 56,
    "width": 56,
    "fps": 2.0,
    "num_text": 24,
}
NEEDED_TORCH = (2, 11)


@dataclass
class Report:
    """Figures by stage; runs the stages and goes on where one fails."""

    device: torch.device
    found: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def stage(self, name: str, work: Callable[[], dict[str, Any]]) -> bool:
        """Run one stage and print its figures, or why there are none."""
        begin = time.perf_counter()
        try:
            self.found[name] = work()
        except Exception as error:  # noqa: BLE001 whatever it is, the others still tell something
            self.failed[name] = f"{type(error).__name__}: {error}"
            sys.stderr.write(f"FAILED {name}: {self.failed[name][:2000]}\n")
        else:
            sys.stderr.write(f"{name}: {json.dumps(self.found[name])}\n")
        self.forget()
        sys.stderr.write(f"  ({time.perf_counter() - begin:.1f} s in all)\n")
        sys.stderr.flush()
        return name in self.found

    def forget(self) -> None:
        """Give memory back between stages."""
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def timed(self, work: Callable[[], Any], *, warm: bool = True) -> dict[str, Any]:
        """Seconds of a second run, or of the first without `warm`, and its peak memory, all in."""
        first = self._seconds(work) if warm else None
        on_gpu = self.device.type == "cuda"
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        return {
            "seconds": self._seconds(work),
            "first_seconds": first,
            "peak_memory_bytes": torch.cuda.max_memory_allocated() if on_gpu else None,
        }

    def _seconds(self, work: Callable[[], Any]) -> float:
        self._wait()
        begin = time.perf_counter()
        work()
        self._wait()
        return round(time.perf_counter() - begin, 4)

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def main(argv: list[str] | None = None) -> int:
    """Run all stages; 0 if none failed."""
    parser = argparse.ArgumentParser(
        prog="python -m speed.gpu_check",
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--out", type=Path, help="also write the JSON to this file")
    parser.add_argument("--rollout-tokens", type=int, default=256, help="sampled per completion")
    parser.add_argument("--self-check", action="store_true", help="a tiny model on the CPU")
    given = parser.parse_args(argv)
    refusal = why_not(self_check=given.self_check)
    if refusal:
        sys.stderr.write(f"speed.gpu_check: {refusal}\n")
        return 2
    from speed.gpu_stages import run_stages

    report = Report(torch.device("cpu" if given.self_check else "cuda"))
    run_stages(report, rollout_tokens=3 if given.self_check else given.rollout_tokens)
    text = json.dumps({**report.found, "failed": report.failed})
    sys.stdout.write(text + "\n")
    if given.out is not None:
        given.out.write_text(text + "\n")
    return 1 if report.failed else 0


def why_not(*, self_check: bool) -> str:
    """Why the check can't run here, or nothing."""
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < NEEDED_TORCH:
        return f"needs torch 2.11 or later, and this is {torch.__version__}"
    if not self_check and not torch.cuda.is_available():
        return "torch sees no CUDA device; --self-check runs a tiny model on the CPU"
    return ""


if __name__ == "__main__":
    sys.exit(main())
