"""Judge: let a model rate the predicted emotions and reasons of a run, segment by segment.

    dar judge --config configs/judge/paper.yaml --run runs/demo/grpo --name test
    python -m evaluation.judge --config configs/judge/hardened.yaml --run runs/demo/grpo \\
        --name test --model.model gemini-2.5-pro --limits.max_cost 20

Writes RUN/judgements/NAME/LABEL.jsonl and, once nothing is left to do, LABEL.scores.json beside it
(`evaluation.judge.judgements`). Replies are kept in RUN/replies.sqlite: start the command as often
as you like, it goes on where it stopped, tries again what is unscored and buys nothing twice.

Exit code 0: every segment is judged or gated; 1: some are unscored (they are in no mean, the table
counts them), or the server answered so many in a row with faults that the run gave up; 2: a mistake
in the command or the configuration, or a server that lets nobody in or does not know the model;
3: limits.max_cost is reached; 130: interrupted. Only a run that came to its end leaves scores.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

from affect.config import parse_command_line
from affect.llm.reply_cache import SqliteReplyCache
from affect.llm.retrying import RetryPolicy
from affect.llm.role_models import RoleModels
from affect.printable import printable
from affect.video import GuardedReader, Quarantine
from evaluation.command_line import MONEY_SPENT, SOME_FAILED, make_console, run_command
from evaluation.judge.config import JudgeConfig
from evaluation.judge.inputs import JudgingInputs, read_inputs
from evaluation.judge.judgement_writer import JudgementWriter
from evaluation.judge.judgements import (
    SegmentJudgement,
    judge_label,
    judge_scores_path,
    write_judge_scores,
)
from evaluation.judge.judging import ROLE, Judging
from evaluation.judge.plan import Plan, plan_judging
from evaluation.judge.scoring import score_judgements
from evaluation.judge.table import judge_table
from evaluation.paid_cost import PaidCost
from evaluation.row_videos import require_videos
from evaluation.shown import ShownClips

PROG = "judge"
CONFIG_FOLDER = Path(__file__).resolve().parents[2] / "configs" / "judge"
MAX_UNSCORED_TOLD = 5


def judge(config: JudgeConfig) -> int:
    """Run the command; ValueError for whatever its user can put right."""
    inputs = read_inputs(config)
    plan = plan_judging(inputs.judge, inputs.truths, inputs.clips)
    reader = GuardedReader(
        config.limits.decode_timeout_seconds, Quarantine(inputs.folder.quarantine)
    )
    with JudgementWriter(inputs.path, inputs.header) as output:
        remaining = plan.without(output.done)
        require_videos(inputs.video_root, [one.row for one in remaining.work], "--video_root")
        judging = Judging(
            inputs.judge,
            ShownClips(inputs.video_root, inputs.budget, reader).video,
            samples=config.samples,
            max_tokens=config.max_tokens,
            max_failures_in_a_row=config.limits.max_failures_in_a_row,
            num_decodes_at_once=config.limits.decodes_at_once,
        )
        if remaining.work:
            try:
                _ask(config, inputs, judging, plan, remaining, output, reader)
            except KeyboardInterrupt:
                _say(
                    sys.stderr,
                    f"\n{inputs.path}: stopped with {_num_done(plan, output)} segments done; "
                    "the same command goes on from there",
                )
                raise
        if judging.ending == "turned_away":
            raise ValueError(
                f"{judging.reason}; nothing was judged: put it right and start it again"
            )
        if judging.ending != "finished":
            _say(
                sys.stdout,
                f"{inputs.path}: {_num_done(plan, output)} segments done, no scores yet. "
                f"{judging.reason}; the same command goes on from there"
                + (
                    " with more --limits.max_cost"
                    if judging.ending == "budget_spent"
                    else ", once the server answers"
                ),
            )
            return MONEY_SPENT if judging.ending == "budget_spent" else SOME_FAILED
        if remaining.gated:
            output.write(*remaining.gated)
        return _write_scores(config, inputs, plan, output.put_in_order(plan.keys))


def _ask(
    config: JudgeConfig,
    inputs: JudgingInputs,
    judging: Judging,
    plan: Plan,
    remaining: Plan,
    output: JudgementWriter,
    reader: GuardedReader,
) -> None:
    paid = PaidCost()
    with (
        closing(SqliteReplyCache(inputs.folder.replies)) as cache,
        tqdm(
            total=plan.num_asked,
            initial=plan.num_asked - remaining.num_asked,
            desc=PROG,
            unit="segment",
            disable=None,
        ) as bar,
    ):
        num_unscored = 0

        def on_judged(judgement: SegmentJudgement) -> None:
            nonlocal num_unscored
            output.write(judgement)
            num_unscored += judgement.state == "unscored"
            bar.set_postfix(cost=paid.text, unscored=num_unscored, refresh=False)
            bar.update()

        asyncio.run(_judge_all(config, judging, remaining, cache, paid, reader, on_judged))
        spent = cache.spent_cost()
    in_all = f" ({spent:.4f} in all of {inputs.folder.replies})" if spent else ""
    _say(sys.stderr, f"{paid.summary()}{in_all}")


async def _judge_all(
    config: JudgeConfig,
    judging: Judging,
    remaining: Plan,
    cache: SqliteReplyCache,
    paid: PaidCost,
    reader: GuardedReader,
    on_judged: Callable[[SegmentJudgement], None],
) -> None:
    try:
        models = RoleModels(
            {ROLE: ROLE},
            {ROLE: config.model},
            cache=cache,
            max_asks=config.max_asks,
            policy=RetryPolicy(config.limits.max_attempts, config.limits.max_backoff_seconds),
            max_cost=config.limits.max_cost,
            spent_cost=cache.spent_cost(),
            on_call=paid.add,
            before_each=judging.check,
        )
    except ValueError as error:  # it knows models by name, a judge's configuration has but one
        raise ValueError(str(error).replace(f"models.{ROLE}: ", "model: ")) from error
    try:
        await judging.run(
            models, remaining.work, on_judged, num_clips_at_once=config.model.max_concurrent
        )
    finally:
        reader.close()  # a decode that is under way is given up, or an interrupt would wait for it
        await models.aclose()


def _write_scores(
    config: JudgeConfig, inputs: JudgingInputs, plan: Plan, judgements: Sequence[SegmentJudgement]
) -> int:
    label = judge_label(inputs.judge.name, config.model.model)
    rows = score_judgements(
        inputs.judge.name,
        config.model.model,
        [clip.id for clip in inputs.clips],
        judgements,
        num_unparsed=plan.num_unparsed,
        num_missing=plan.num_missing,
    )
    path = judge_scores_path(inputs.path)
    write_judge_scores(path, rows)
    make_console().print(judge_table(label, rows))
    _say(sys.stderr, f"wrote {inputs.path} and {path}")
    unscored = [one for one in judgements if one.state == "unscored"]
    for one in unscored[:MAX_UNSCORED_TOLD]:
        _say(sys.stderr, printable(f"unscored: {one.id}, segment {one.segment}: {one.why}"))
    if len(unscored) > MAX_UNSCORED_TOLD:
        _say(sys.stderr, f"and {len(unscored) - MAX_UNSCORED_TOLD} more; see {inputs.path}")
    return SOME_FAILED if unscored else 0


def _num_done(plan: Plan, output: JudgementWriter) -> str:
    """Of the segments that the judge is asked about."""
    left = plan.without(output.done).num_asked
    return f"{plan.num_asked - left} of {plan.num_asked}"


def _say(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    config = parse_command_line(
        JudgeConfig,
        argv,
        prog=f"python -m evaluation.{PROG}",
        description=__doc__ or "",
        config_folder=CONFIG_FOLDER,
    )
    return run_command(PROG, lambda: judge(config))


if __name__ == "__main__":
    raise SystemExit(main())
