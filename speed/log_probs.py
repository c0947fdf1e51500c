"""Log-probs, entropies and their backward at a vocabulary as wide as Qwen2.5-VL's.

    python -m speed.log_probs --json
    {"peak_memory_ratio": 0.112, "cpu_ratio": 1.25,
     "largest_tensor_elements": {"ours": 77791232, "plain": 311164928, ...},
     "weight_gradient_bytes": 311164928, "contenders": {"ours": {...}, "plain": {...}}}

Both run the same policy on the same packed row, 2,048 completion tokens behind one prompt with a
clip, in float32: one decoder layer, 512 wide, and a head of 151,936 words of which nothing else is
a copy. *Ours* is the trainer's pass: hidden states of scored places only, through the fused head in
tiles (`train/narrow_head.py`); *wide tiles* are TRL's own, 32,768 words. *Plain* makes the logits
of the same places and takes their log_softmax. The gradient of the head's weight, words x width,
belongs to all and is named by itself.

Each runs in a process of its own. `added_bytes` is the largest resident size during the pass, less
what the process held before it; `peak_bytes` is that size as it is. `peak_memory_ratio` is
ours / plain of the former, `cpu_ratio` plain / ours ("times less CPU").
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from speed.contender_process import run_in_process

CONTENDERS = ("ours", "plain", "wide tiles")


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of one comparison."""

    num_words: int = 151_936
    hidden_size: int = 512
    num_tokens: int = 2_048
    num_completions: int = 8


def main(argv: list[str] | None = None) -> int:
    """Run the contenders and print the comparison."""
    parser = argparse.ArgumentParser(
        prog="python -m speed.log_probs",
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    usual = Shape()
    parser.add_argument("--vocabulary", type=int, default=usual.num_words, help="words")
    parser.add_argument("--tokens", type=int, default=usual.num_tokens, help="completion tokens")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.tokens < usual.num_completions or given.tokens % usual.num_completions:
        parser.error(f"--tokens is shared out to {usual.num_completions} completions")
    if given.vocabulary < 1024:
        parser.error("--vocabulary holds at least the tokenizer's 1,024 words")
    shape = Shape(num_words=given.vocabulary, num_tokens=given.tokens)
    if given.contender is not None:
        sys.stdout.write("\n" + json.dumps(run_contender(given.contender, shape)) + "\n")
        return 0
    report = compare(shape)
    sys.stdout.write(json.dumps(report) + "\n" if given.json else _table(report))
    return 0


def compare(shape: Shape) -> dict[str, Any]:
    """The figures of the module's text, by name.

    Raises:
        RuntimeError: a contender failed, or they don't find the same numbers.
    """
    found = {name: _run(name, shape) for name in CONTENDERS}
    ours, plain = found["ours"], found["plain"]
    for contender, one in found.items():
        for name in ("mean_log_prob", "mean_entropy", "weight_gradient_norm"):
            if abs(one[name] - plain[name]) > 1e-4 * abs(plain[name]):
                raise RuntimeError(f"{name}: {contender} {one[name]}, plain {plain[name]}")
    return {
        "peak_memory_ratio": round(ours["added_bytes"] / plain["added_bytes"], 3),
        "cpu_ratio": round(plain["cpu_seconds"] / ours["cpu_seconds"], 2),
        "largest_tensor_elements": {name: one["largest_elements"] for name, one in found.items()},
        "weight_gradient_bytes": 4 * shape.num_words * shape.hidden_size,
        "shape": asdict(shape),
        "contenders": found,
    }


def _run(contender: str, shape: Shape) -> dict[str, Any]:
    sizes = ["--vocabulary", str(shape.num_words), "--tokens", str(shape.num_tokens)]
    return run_in_process("speed.log_probs", contender, sizes)


def run_contender(contender: str, shape: Shape) -> dict[str, Any]:
    """Memory and CPU seconds of one pass in this process, then the largest tensor of another."""
    import torch

    from speed.largest_tensor import LargestTensor
    from speed.log_probs_pass import HeadPass

    torch.set_num_threads(1)
    one_pass = HeadPass(shape)
    held = _status_bytes("VmRSS")
    forget_peak()
    begin = time.process_time()
    found = one_pass.run(contender)
    seconds = time.process_time() - begin
    peak = _status_bytes("VmHWM")
    with LargestTensor() as seen:
        one_pass.run(contender)
    return {
        **found,
        "cpu_seconds": round(seconds, 2),
        "held_bytes": held,
        "peak_bytes": peak,
        "added_bytes": peak - held,
        "largest_elements": seen.num_elements,
        "largest_shape": list(seen.shape),
    }


def forget_peak() -> None:
    """Let the process's largest resident size start anew (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def _status_bytes(name: str) -> int:
    """A figure of the kernel's about this process, such as VmHWM, its largest resident size."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status does not say {name}; this command needs Linux")


def _table(report: dict[str, Any]) -> str:
    lines = [
        f"memory {report['peak_memory_ratio']} of plain's, {report['cpu_ratio']} times less CPU",
        f"of each, {report['weight_gradient_bytes'] / 2**20:.0f} MiB are the weight's gradient",
        f"\n{'':10} {'added MiB':>10} {'peak MiB':>10} {'CPU s':>7}  largest tensor",
    ]
    for name, one in report["contenders"].items():
        shown = " x ".join(f"{size:,}" for size in one["largest_shape"])
        lines.append(
            f"{name:10} {one['added_bytes'] / 2**20:10.0f} {one['peak_bytes'] / 2**20:10.0f} "
            f"{one['cpu_seconds']:7.1f}  {shown}"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
