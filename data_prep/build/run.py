"""Build: bring every video under a root through all stages, then export the data set.

    dar build run --config configs/build/paper.yaml --out builds/vce --videos.root path/to/vce
    dar build run --config builds/vce/config.yaml           # go on, or try failures again

Start it as often as you like: what is answered is not asked again, and what did not change is not
done again. Exit code 0: every video came out done or rejected; 1: some failed, the next run tries
them again; 2: the command or the configuration was wrong; 3: the budget is spent; 4: the disk or
the database gave up; 130: interrupted. Nothing is lost in any of these.
"""

import asyncio
import errno
import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from tqdm import tqdm

from affect.config import parse_command_line, save_config
from affect.llm.call import Call
from affect.llm.reply_cache import SqliteReplyCache
from affect.run_folder import environment_record, write_json
from data_prep.build.candidates import read_candidates, tell_unlabelled
from data_prep.build.config import BuildConfig
from data_prep.build.engine import OnOutcome, Summary, Work, run_all
from data_prep.build.exported import export_digest, is_exported
from data_prep.build.folder import BuildFolder, identity_of
from data_prep.build.journal import Journal
from data_prep.build.journal_store import JournalStore
from data_prep.build.listing import check_root, find_files
from data_prep.build.lock import held
from data_prep.build.outcome import Outcome
from data_prep.build.run_video import BuildBrokenError
from data_prep.build.shop import Prepared, check_models, open_shop, prepare
from data_prep.build.stage_models import asking_for
from data_prep.build.stop import Stop

CONFIG_FOLDER = Path(__file__).resolve().parents[2] / "configs" / "build"
FAILURES, USER_MISTAKE, BUDGET_SPENT, BROKEN, INTERRUPTED = 1, 2, 3, 4, 130
PROG = "dar build run"


def main(argv: Sequence[str] | None = None) -> int:
    """`dar build run` with these arguments."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    config = parse_command_line(
        BuildConfig,
        arguments,
        prog=PROG,
        description=(__doc__ or "").partition("\n")[0],
        config_folder=CONFIG_FOLDER,
    )
    try:
        return build(config.with_absolute_paths(), [*shlex.split(PROG), *arguments])
    except (BuildBrokenError, OSError) as error:
        sys.stderr.write(f"{PROG}: {error}\n")
        return BROKEN
    except ValueError as error:
        sys.stderr.write(f"{PROG}: {error}\n")
        return USER_MISTAKE
    except KeyboardInterrupt:  # outside the loop over the videos: while something is read, exported
        return INTERRUPTED


def build(config: BuildConfig, command: Sequence[str]) -> int:
    """Run, export and report; the exit code. Raises ValueError and BuildBrokenError."""
    check_root(config.videos)  # before anything is written where a mistyped command says
    folder = BuildFolder(config.out)
    _make_writable(folder.path)
    with held(folder.lock):
        stop = Stop()
        with Journal(folder.journal) as journal:
            _check_identity(folder, journal, config)
            prepared = prepare(config)
            save_config(folder.config, config)
            write_json(folder.environment, environment_record(command))
            summary, cost = asyncio.run(_run(config, prepared, journal, stop))
        return _ended(config, folder, stop, summary, cost)


async def _run(
    config: BuildConfig, prepared: Prepared, journal: Journal, stop: Stop
) -> tuple[Summary, float]:
    """The cost is of all runs."""
    candidates_of, warnings = read_candidates(config.videos.labels)
    for warning in warnings:
        _warn(warning)
    plan, root = prepared.plan, config.videos.root.resolve()
    work = Work(
        plan,
        root,
        candidates_of,
        config.engine.videos_at_once,
        config.limits.max_failures_in_a_row,
    )
    with stop.on_signals(_say_stopping):
        files = find_files(config.videos, skip=config.out)
        if config.videos.labels:
            files = tell_unlabelled(files, candidates_of, _warn)
        journal.begin_run(plan.base, files)
        # Only now: a root that was refused is not the build's.
        await journal.set_fact("identity", json.dumps(identity_of(config), sort_keys=True))
        if config.engine.name == "ray":
            summary, cost = await _run_on_ray(config, work, journal, stop)
        else:
            summary, cost = await _run_here(config, prepared, work, journal, stop)
        await journal.end_run(summary.ending)
    return summary, cost


async def _run_here(
    config: BuildConfig, prepared: Prepared, work: Work, journal: Journal, stop: Stop
) -> tuple[Summary, float]:
    def on_call(call: Call) -> None:
        video, stage = asking_for()
        journal.note_call(video, stage, call)

    with closing(SqliteReplyCache(BuildFolder(config.out).replies)) as cache:
        shop = open_shop(
            config,
            prepared=prepared,
            store=JournalStore(journal, work.plan.base, work.plan.stages),
            cache=cache,
            spent_cost=cache.spent_cost(),
            on_call=on_call,
            is_stopped=stop.is_set,
        )
        stop.on_interrupt(shop.reader.close)
        try:
            on_outcome = _progress(journal.num_listed(), lambda: shop.models.spent_cost)
            summary = await run_all(work, journal, shop.run, stop, on_outcome)
        finally:
            await shop.aclose()
        return summary, shop.models.spent_cost


async def _run_on_ray(
    config: BuildConfig, work: Work, journal: Journal, stop: Stop
) -> tuple[Summary, float]:
    from data_prep.build.ray_engine import RayCrew

    await check_models(config, work.plan)  # refused here, not on every node
    with closing(SqliteReplyCache(BuildFolder(config.out).replies)) as cache:
        async with RayCrew(config, journal, work.plan.base, _warn) as crew:
            stop.on_interrupt(crew.stop)
            on_outcome = _progress(journal.num_listed(), lambda: 0.0)
            summary = await run_all(work, journal, crew.run_video, stop, on_outcome)
        return summary, cache.spent_cost()


def _make_writable(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        why = "" if os.access(out, os.W_OK | os.X_OK) else "no permission to write"
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        why = error.strerror or str(error)
    if why:
        raise ValueError(f"out: {out} cannot be written into ({why}); give another --out")


def _check_identity(folder: BuildFolder, journal: Journal, config: BuildConfig) -> None:
    text = journal.fact("identity")
    before = json.loads(text) if text else {}
    for name, value in identity_of(config).items():
        if before.get(name, value) != value:
            raise ValueError(
                f"{name}: {folder.path} is a build with {before[name]}, not {value}; "
                "give another --out"
            )


def _progress(num_videos: int, cost: Callable[[], float]) -> OnOutcome:
    """A bar on a terminal, with what came out so far."""
    bar = tqdm(total=num_videos, unit="video", disable=None)
    counts = {"done": 0, "rejected": 0, "failed": 0}

    def on_outcome(video: str, outcome: Outcome, is_known: bool) -> None:
        counts[outcome.state] += 1
        spent = cost()
        shown = {**counts, **({} if not spent else {"cost": f"{spent:.2f}"})}
        bar.set_postfix(shown, refresh=False)
        bar.update()
        if bar.n >= num_videos:
            bar.close()

    return on_outcome


def _warn(text: str) -> None:
    sys.stderr.write(f"{PROG}: {text}\n")


def _say_stopping() -> None:
    sys.stderr.write(
        "\nstopping: nothing new begins, replies under way are waited for, 10 s at most; "
        "once more ends at once\n"
    )


def _ended(
    config: BuildConfig, folder: BuildFolder, stop: Stop, summary: Summary, cost: float
) -> int:
    write = sys.stdout.write
    num_settled = sum(summary.counts.values())
    write(f"{summary.num_videos} videos, {num_settled} came out ({summary.num_known} known before)")
    write("" if not cost else f", cost {cost:.2f} in all runs")
    write("\n")
    for (state, stage, kind), num in sorted(summary.counts.items()):
        write(f"  {state:<8} {num:>7}" + (f"  {stage}: {kind}\n" if kind else "\n"))
    again = f"dar build run --config {shlex.quote(os.fspath(folder.config))}"
    if summary.ending == "interrupted":
        write(f"interrupted; go on with: {again}\n")
        return INTERRUPTED
    if summary.ending == "budget_spent":
        write(f"{stop.reason}; go on with: {again} --limits.max_cost MORE\n")
        return BUDGET_SPENT
    made_from = export_digest(folder, config)
    if is_exported(folder, made_from):
        write(f"export: {folder.export}: nothing has changed\n")
    else:
        from data_prep.build.export import export  # it takes a second to import

        write(export(folder, config, made_from))
    if config.annotator == "rendered" and summary.num("rejected"):
        # The world is drawn to be used whole: a rejection says that a threshold does not fit it.
        write(
            f"{summary.num('rejected')} drawn clips were rejected and are missing in the export\n"
        )
        return FAILURES
    if summary.ending == "gave_up":
        write(f"gave up: {stop.reason}\n")
    if summary.num("failed"):
        write(f"{summary.num('failed')} failed; try them again with: {again}\n")
        return FAILURES
    return 0
