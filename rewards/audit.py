"""What a reward pays to policies that don't solve the task: look at this before spending GPU days.

    python -m rewards.audit --preset hardened
    python -m rewards.audit --preset paper --annotations my/train.sft.jsonl --json

Each policy answers every annotated clip, and its mean total and terms are printed beside those of
the truth: as a table, or as JSON:

    {"preset": "hardened",
     "gold": {"total": 1.0, "terms": {"struct": 1.0, "count": 1.0, "seg": 1.0, ...}},
     "policies": {"best_constant": {"total": 0.3912, "terms": {...}, "sees_video": false}, ...}}

Two things to look for. What a policy earns that never sees the video is what training can gain by
habit alone; the constants among these are fitted to the clips that they are scored on (or to the
rows of --fit), so they are upper bounds. And a policy that sees the video and still spoils its
answer should earn visibly less than the truth. Without --annotations the rows are those shipped
with the project, labels of the rendered world (`data_prep.rendered.labels`): your own have other
habits to be learned, so run it on them.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import Any

from rewards.audit_clip import AuditClip, Policy, read_clips, read_reply
from rewards.blind_policies import blind_policies
from rewards.constants import TERMS
from rewards.presets import PRESETS, RewardSet
from rewards.sighted_policies import SIGHTED_POLICIES

SHIPPED_ROWS = Path(__file__).with_name("rendered_labels.jsonl")
FEW_CLIPS = 50

GOLD = Policy("gold", True, "the true answer", lambda clip: clip.answer)


def audit(
    clips: Sequence[AuditClip], rewards: RewardSet, policies: Sequence[Policy]
) -> dict[str, Any]:
    """What the truth and each policy earn on the clips on average, as the JSON above."""
    return {
        "preset": rewards.preset,
        "gold": mean_scores(GOLD, clips, rewards),
        "policies": {
            policy.name: {
                **mean_scores(policy, clips, rewards),
                "sees_video": policy.sees_video,
            }
            for policy in policies
        },
    }


def audit_policies(fit: Sequence[AuditClip], rewards: RewardSet) -> list[Policy]:
    """All policies that are played; those that don't see the video first."""
    return [*blind_policies(fit, rewards), *SIGHTED_POLICIES]


def mean_scores(policy: Policy, clips: Sequence[AuditClip], rewards: RewardSet) -> dict[str, Any]:
    """Mean total and mean of each term over the clips, in [0, 1]."""
    scores = [
        rewards.score(read_reply(policy.answer(clip), clip), clip.truth, clip.prompt_text)
        for clip in clips
    ]

    def mean(name: str) -> float:
        # To nine digits: a mean of ones is 1.0, whatever the order of the sum.
        return round(fsum(score[name] for score in scores) / len(scores), 9)

    return {"total": mean("total"), "terms": {term: mean(term) for term in TERMS}}


def table(report: Mapping[str, Any], policies: Sequence[Policy]) -> str:
    """The report as a Markdown table: the truth, then the blind and the sighted, best first."""
    width = max(len(policy.name) for policy in policies) + 2
    lines = [
        _row(
            f"under {report['preset']}".ljust(width), "sees", [*TERMS, "total"], "what it answers"
        ),
        _row("-" * width, "----", ["------"] * 6, "---"),
        _row(GOLD.name.ljust(width), "yes ", _values(report["gold"]), GOLD.meaning),
    ]
    earned = report["policies"]
    ranked = sorted(policies, key=lambda it: (it.sees_video, -earned[it.name]["total"]))
    lines.extend(
        _row(
            f"`{policy.name}`".ljust(width),
            "yes " if policy.sees_video else "no  ",
            _values(earned[policy.name]),
            policy.meaning,
        )
        for policy in ranked
    )
    return "\n".join(lines) + "\n"


def _values(earned: Mapping[str, Any]) -> list[str]:
    return [f"{value:.3f}" for value in (*earned["terms"].values(), earned["total"])]


def _row(name: str, sees_video: str, values: Sequence[str], meaning: str) -> str:
    cells = [name, sees_video, *(value.rjust(6) for value in values), meaning]
    return f"| {' | '.join(cells)} |"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rewards.audit",
        description="What a reward preset pays to policies that do not solve the task.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--preset", choices=list(PRESETS), default="hardened", help="the reward")
    parser.add_argument(
        "--annotations",
        type=Path,
        default=argparse.SUPPRESS,
        help="JSONL of annotated rows to score on, SFT or GRPO form; no video is read "
        "(default: the rows shipped with the project)",
    )
    parser.add_argument(
        "--fit",
        type=Path,
        default=argparse.SUPPRESS,
        help="rows to fit the blind policies to (default: those of --annotations)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return parser


def _run(args: argparse.Namespace) -> None:
    rewards = RewardSet.from_preset(args.preset)
    annotations = args.annotations if "annotations" in args else SHIPPED_ROWS
    clips = read_clips(annotations)
    fit = read_clips(args.fit) if "fit" in args else clips
    sys.stderr.write(
        f"{annotations}: {len(clips)} clips; searching for the best reply without the video "
        f"on {len(fit)} clips\n"
    )
    if fit is clips and len(clips) < FEW_CLIPS:
        sys.stderr.write(
            f"{len(clips)} clips are few: replies fitted to them know their truths by heart, and "
            "earn more than a policy without the video could; give other rows to --fit\n"
        )
    policies = audit_policies(fit, rewards)
    report = audit(clips, rewards, policies)
    if args.json:
        sys.stdout.write(json.dumps(report, indent=2, allow_nan=False) + "\n")
    else:
        sys.stdout.write(table(report, policies))


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns 0, or 2 for a file that can't be audited."""
    args = _parser().parse_args(argv)
    try:
        _run(args)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"rewards.audit: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("rewards.audit: interrupted\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
