"""One GRPO step on a clip: the project's against stock TRL's, and against the least arithmetic.

    python -m speed.grpo_step --json --quick
    {"flops_over_floor": 1.003, "cpu_ratio_vs_trl": 4.96, "cpu_ratio_vs_ms_swift": null,
     "peak_memory_ratio_vs_trl": 0.658, "tower_runs_per_clip": 1.0, "video_decodes_per_clip": 1.0,
     "marginal_completion_cost": 1.013, ...}

Each contender runs in a process of its own, on the same weights, the same clip and prompts of equal
length, in float32 with gradient checkpointing and a reference model: one optimizer step on one
group of 8 completions of 128 tokens. TRL takes them one at a time (its way to save memory), the
project the whole group at once. CPU seconds are those of the step, without imports and loading;
memory is the process's largest resident size. FLOPs are counted in a run of their own.

Without --quick: also each saving switched off by itself, and a shape as long as the paper's with 4
and with 8 completions, in front of a smaller model. `cpu_ratio_vs_ms_swift` is null: it is not
among the requirements and is measured by hand, see docs/speed.md.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from speed.contender_process import run_in_process

CONTENDERS = ("ours", "trl", "plain log-probs", "tower in every pass", "prefill per completion")
PREPARE = "prepare"
NUM_COMPLETIONS = 8


def main(argv: list[str] | None = None) -> int:
    """Run all contenders and print the comparison."""
    parser = argparse.ArgumentParser(
        prog="python -m speed.grpo_step",
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="only the ratios, within 4 minutes")
    parser.add_argument("--shape", default="first", help="first, dar, or tiny to try the command")
    parser.add_argument("--contender", choices=(PREPARE, *CONTENDERS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--completions", type=int, default=NUM_COMPLETIONS, help=argparse.SUPPRESS)
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.contender == PREPARE:
        from speed.grpo_workload import SHAPES, prepare

        prepare(given.folder, SHAPES[given.shape])
        sys.stdout.write("\n{}\n")
        return 0
    if given.contender is not None:
        from speed.grpo_contender import run_contender

        report = run_contender(
            given.contender, given.folder, given.shape, given.completions, count=given.count
        )
        sys.stdout.write("\n" + json.dumps(report) + "\n")
        return 0
    report = compare(given.shape, quick=given.quick)
    sys.stdout.write(json.dumps(report) + "\n" if given.json else _table(report))
    return 0


def compare(shape: str, *, quick: bool) -> dict[str, Any]:
    """The figures of the module's text, by name."""
    with tempfile.TemporaryDirectory(prefix="grpo_step_") as name:
        folder = Path(name)
        # In a process of its own: what it holds is nobody's memory.
        _run(PREPARE, folder / shape, shape, NUM_COMPLETIONS)
        report = _compare_shape(folder / shape, shape, everything=not quick)
        if not quick and shape == "first":
            _run(PREPARE, folder / "dar", "dar", NUM_COMPLETIONS)
            report["dar"] = {
                str(count): _against_trl(folder / "dar", "dar", count) for count in (4, 8)
            }
    return report


def _compare_shape(folder: Path, shape: str, *, everything: bool) -> dict[str, Any]:
    report = _against_trl(folder, shape, NUM_COMPLETIONS)
    counted = _run("ours", folder, shape, NUM_COMPLETIONS, count=True)
    doubled = _run("ours", folder, shape, 2 * NUM_COMPLETIONS, count=True)
    marginal = (doubled["flops"] - counted["flops"]) / NUM_COMPLETIONS
    report = {
        "flops_over_floor": round(counted["flops"] / counted["floor_flops"], 4),
        **report,
        "tower_runs_per_clip": counted["tower_runs"],
        "video_decodes_per_clip": counted["video_decodes"],
        "marginal_completion_cost": round(marginal / counted["completion_floor_flops"], 4),
        "flops": counted["flops"],
        "floor_flops": counted["floor_flops"],
        "flops_by_operation": counted["flops_by_operation"],
        "floor_by_part": counted["floor_by_part"],
    }
    if everything:
        ours = report["contenders"]["ours"]
        for contender in CONTENDERS[2:]:
            found = _run(contender, folder, shape, NUM_COMPLETIONS)
            found["cpu_ratio"] = round(found["cpu_seconds"] / ours["cpu_seconds"], 2)
            report["contenders"][contender] = found
    return report


def _against_trl(folder: Path, shape: str, num_completions: int) -> dict[str, Any]:
    ours, trl = (_run(name, folder, shape, num_completions) for name in ("ours", "trl"))
    return {
        "cpu_ratio_vs_trl": round(trl["cpu_seconds"] / ours["cpu_seconds"], 2),
        "cpu_ratio_vs_ms_swift": None,
        "peak_memory_ratio_vs_trl": round(ours["peak_memory_bytes"] / trl["peak_memory_bytes"], 3),
        "contenders": {"ours": ours, "trl": trl},
    }


def _run(
    contender: str, folder: Path, shape: str, num_completions: int, *, count: bool = False
) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    sys.stderr.write(f"{contender}, {num_completions} completions{', counting' * count} ...\n")
    sizes = ["--folder", str(folder), "--shape", shape, "--completions", str(num_completions)]
    return run_in_process("speed.grpo_step", contender, [*sizes, *(["--count"] if count else [])])


def _table(report: dict[str, Any]) -> str:
    lines = [f"{name:26} {value}" for name, value in report.items() if not isinstance(value, dict)]
    lines.append(f"\n{'contender':26} {'CPU s':>8} {'wall s':>8} {'peak MB':>8}")
    lines += [
        f"{name:26} {found['cpu_seconds']:8.1f} {found['wall_seconds']:8.1f} "
        f"{found['peak_memory_bytes'] / 2**20:8.0f}"
        for name, found in report["contenders"].items()
    ]
    for count, found in report.get("dar", {}).items():
        lines.append(
            f"\nthe paper's lengths, {count} completions: {found['cpu_ratio_vs_trl']} times less "
            f"CPU, {found['peak_memory_ratio_vs_trl']} of the memory"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
