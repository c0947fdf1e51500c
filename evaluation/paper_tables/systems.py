"""The systems of the tables with all that is known of their runs, checked to be comparable.

Example: `systems = load_systems(config, (2, 6))`; `systems[0].runs[0].clips`
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from affect.file_hash import sha256_of_file
from affect.run_folder import RunFolder
from evaluation.metrics import Bootstrap
from evaluation.paper_tables.config import SystemSection, TablesConfig
from evaluation.run_results import RunResults, load_run
from evaluation.suites.tsl300.results import TslResults, read_tsl_results

TABLES_OF_REPLIES = (2, 5, 7)


@dataclass(frozen=True, slots=True)
class System:
    """One line of the tables. folders: of its runs. runs: their replies, () where no table needs
    them. tsl: their scores on TSL-300, () where it has none. tables: that show it, () for all."""

    label: str
    group: str
    tables: tuple[int, ...]
    folders: tuple[Path, ...]
    runs: tuple[RunResults, ...]
    tsl: tuple[TslResults, ...]

    def is_in(self, number: int) -> bool:
        """Whether this table shows it."""
        return not self.tables or number in self.tables


def load_systems(config: TablesConfig, numbers: Sequence[int]) -> list[System]:
    """All systems in the order of the configuration, with what these tables need of them.

    Raises ValueError naming the file for what is not there.
    """
    bootstrap = Bootstrap(config.replicates, config.seed)
    systems: list[System] = []
    for group in config.groups:
        needs_replies = any(
            number in TABLES_OF_REPLIES and number in (group.tables or numbers)
            for number in numbers
        )
        for section in group.systems:
            runs = [
                load_run(
                    path,
                    section.name or config.name,
                    label=section.label,
                    rows=config.rows,
                    bootstrap=bootstrap,
                )
                for path in (section.run if needs_replies else ())
            ]
            systems.append(
                System(
                    section.label,
                    group.title,
                    group.tables,
                    section.run,
                    tuple(runs),
                    _tsl(section) if 6 in numbers else (),
                )
            )
    return systems


def _tsl(section: SystemSection) -> tuple[TslResults, ...]:
    if section.tsl is None:
        return ()
    paths = [RunFolder(run).tsl300(section.tsl) for run in section.run]
    for path in paths:
        if not path.is_file():
            raise ValueError(
                f"{path}: {section.label} has no such scores; python -m evaluation.suites.tsl300 "
                "score writes them"
            )
    return tuple(read_tsl_results(path) for path in paths)


def check_same_rows(runs: Sequence[RunResults]) -> None:
    """Raises ValueError, naming the files, unless all runs of a table answer the same rows."""
    first: tuple[str, RunResults] | None = None
    for run in runs:
        sha256 = sha256_of_file(run.rows_path)
        stated = run.predictions.header.rows_sha256
        if stated is not None and stated != sha256:
            raise ValueError(
                f"{run.predictions.path}: answers other rows than {run.rows_path} holds now; name "
                "the file it answers with --rows, or predict again"
            )
        if first is None:
            first = sha256, run
        elif sha256 != first[0]:
            raise ValueError(
                f"{run.predictions.path}: answers other rows ({run.rows_path}) than "
                f"{first[1].predictions.path} ({first[1].rows_path}); numbers of different rows "
                "don't stand in one table"
            )
