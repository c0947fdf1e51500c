"""From a configuration to its tables.

    for table in make_tables(load_config(TablesConfig, path)):
        write_table(out, table)

Columns follow the captions and the text of the paper; the cells of its tables are not in the text
that this project has, so the order of columns there may be another.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from evaluation.human.results import read_human_results
from evaluation.metrics import Bootstrap
from evaluation.paper_tables.captions import CAPTIONS, caption, interval_note, notes_of
from evaluation.paper_tables.config import TABLE_NUMBERS, TablesConfig
from evaluation.paper_tables.document import Cell, Column, Count, Difference, Line, PaperTable
from evaluation.paper_tables.human_ratings import human_ratings
from evaluation.paper_tables.judged import SCORE_COLUMNS, judged
from evaluation.paper_tables.localisation import localisation
from evaluation.paper_tables.ranking import with_places
from evaluation.paper_tables.rewards_on import TERM_COLUMNS, reward_preset, term_cells, terms_on
from evaluation.paper_tables.sentiment import COLUMNS as SENTIMENT_COLUMNS
from evaluation.paper_tables.sentiment import sentiment
from evaluation.paper_tables.systems import System, check_same_rows, load_systems

assert set(CAPTIONS) == set(TABLE_NUMBERS)

Cells = Mapping[str, tuple[Cell, ...]]


def make_tables(config: TablesConfig) -> list[PaperTable]:
    """The tables asked for, or those that there is something to show in, by number.

    Raises ValueError for runs that cannot stand in one table, and for what is not there.
    """
    numbers = tuple(sorted(config.tables)) if config.tables else _numbers(config)
    systems = load_systems(config, numbers)
    tables: list[PaperTable] = []
    for number in numbers:
        shown = [one for one in systems if one.is_in(number)]
        if not shown:
            raise ValueError(f"table {number}: no group is shown in it")
        if number == 3:
            tables.append(_human(config, shown))
        elif number == 6:
            tables.append(_sentiment(config, shown))
        else:
            check_same_rows([run for one in shown for run in one.runs])
            tables.append(_ablation(config, shown) if number == 7 else _main(config, shown, number))
    return tables


def _numbers(config: TablesConfig) -> tuple[int, ...]:
    """2, and whatever else there is something for; 5 only where a group asks for it."""
    asked = {number for group in config.groups for number in group.tables}
    found = set(asked)
    systems = [one for group in config.groups for one in group.systems]
    if any(not group.tables for group in config.groups):
        found.add(2)
    if config.human is not None:
        found.add(3)
    if any(one.tsl is not None for one in systems):
        found.add(6)
    if any(terms_on(run) is not None for one in systems for run in one.run):
        found.add(7)
    unshown = [
        number
        for number in found
        if not any(not group.tables or number in group.tables for group in config.groups)
    ]
    return tuple(sorted(found - set(unshown)))


def _main(config: TablesConfig, systems: Sequence[System], number: int) -> PaperTable:
    scores = localisation(
        systems, config.protocol, Bootstrap(config.replicates, config.seed), config.base
    )
    by_judge = judged(systems, config.judge)
    scored_by = (
        f"VG to Avg: scores from 0 to 5 by {by_judge.judge}, Avg the mean of the five."
        if by_judge.judge is not None
        else "VG to Avg: no judge."
    )
    return _table(
        config,
        number,
        systems,
        columns=(*scores.columns, *SCORE_COLUMNS),
        cells={
            one.label: (*scores.cells[one.label], *by_judge.cells[one.label]) for one in systems
        },
        counted=("clips: scored / unparsed / missing", _judge_head(by_judge.counts)),
        counts={
            one.label: (scores.counts[one.label], by_judge.counts[one.label]) for one in systems
        },
        protocol=config.protocol,
        judge=by_judge.judge,
        more=scored_by,
        differences=scores.differences,
    )


def _judge_head(counts: Mapping[str, Count | None]) -> str:
    parts = next((count.parts for count in counts.values() if count is not None), None)
    return f"judge: {' / '.join(parts)}" if parts else "judge"


def _ablation(config: TablesConfig, systems: Sequence[System]) -> PaperTable:
    scores = localisation(
        systems, config.protocol, Bootstrap(config.replicates, config.seed), config.base
    )
    presets = {
        preset
        for one in systems
        for run in one.folders
        if (preset := reward_preset(run)) is not None
    }
    named = f" Reward presets: {', '.join(sorted(presets))}." if presets else ""
    return _table(
        config,
        7,
        systems,
        columns=(*TERM_COLUMNS, *scores.columns),
        cells={
            one.label: (*term_cells(one.label, one.folders), *scores.cells[one.label])
            for one in systems
        },
        counted=("clips: scored / unparsed / missing",),
        counts={one.label: (scores.counts[one.label],) for one in systems},
        protocol=config.protocol,
        more=f"A check mark: the reward term was on in training.{named}",
        differences=scores.differences,
    )


def _human(config: TablesConfig, systems: Sequence[System]) -> PaperTable:
    if config.human is None:
        raise ValueError("table 3 needs the results of a human evaluation: --human FILE")
    results = read_human_results(config.human)
    ratings = human_ratings([one.label for one in systems], results)
    return _table(
        config,
        3,
        systems,
        columns=SCORE_COLUMNS,
        cells=ratings.cells,
        counted=("ratings given / left open / counted as 0; videos sampled / unparsed / missing",),
        counts={one.label: (ratings.counts[one.label],) for one in systems},
        more=f"{len(results.experts)} experts, {results.num_videos} videos, scores from 0 to 5.",
    )


def _sentiment(config: TablesConfig, systems: Sequence[System]) -> PaperTable:
    scores = sentiment(systems)
    return _table(
        config,
        6,
        systems,
        columns=SENTIMENT_COLUMNS,
        cells=scores.cells,
        counted=("videos: scored / unparsed / missing",),
        counts={one.label: (scores.counts[one.label],) for one in systems},
        more=(
            "Recall and F2 of the published kind are means over the ranked list (a perfect "
            f"prediction has 50.2 and 55.7); all four are AVG over the thresholds. {scores.how}"
        ),
    )


def _table(
    config: TablesConfig,
    number: int,
    systems: Sequence[System],
    *,
    columns: tuple[Column, ...],
    cells: Cells,
    counted: tuple[str, ...],
    counts: Mapping[str, tuple[Count | None, ...]],
    more: str,
    protocol: str | None = None,
    judge: str | None = None,
    differences: tuple[Difference, ...] = (),
) -> PaperTable:
    lines = with_places(
        columns,
        [
            Line(
                group=one.group,
                label=one.label,
                runs=tuple(_name(path) for path in one.folders),
                cells=cells[one.label],
                counts=counts[one.label],
            )
            for one in systems
        ],
    )
    table = PaperTable(
        number=number,
        caption=caption(number, config.title, protocol, more, interval_note(number)),
        protocol=protocol,
        judge=judge,
        columns=columns,
        counted=counted,
        lines=lines,
        differences=differences,
    )
    return table.model_copy(update={"notes": notes_of(table)})


def _name(run: Path) -> str:
    """As the configuration names it, so that a table says nothing of the machine."""
    return run.name if run.is_absolute() else run.as_posix()
