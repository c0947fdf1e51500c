"""Export what a build has finished: rows in three splits, statistics, report, data set.

    dar build export builds/vce

It may be written again at any time, also before all videos came out; a build that is running is
left alone. The configuration is the latest run's (`builds/vce/config.yaml`, section `export`).
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from affect.config import load_config
from data_prep.build.config import BuildConfig
from data_prep.build.exported import export_digest, note_exported
from data_prep.build.finished import finished_videos
from data_prep.build.folder import BuildFolder
from data_prep.build.lock import held
from data_prep.dataset.export import export_build

PROG = "dar build export"


def main(argv: Sequence[str] | None = None) -> int:
    """`dar build export` with these arguments."""
    parser = argparse.ArgumentParser(prog=PROG, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="folder of the build")
    folder = BuildFolder(parser.parse_args(argv).out)
    if not folder.config.is_file():
        sys.stderr.write(f"{PROG}: {folder.path}: no build lies there (no config.yaml)\n")
        return 2
    try:
        config = load_config(BuildConfig, folder.config)
        with held(folder.lock):
            sys.stdout.write(export(folder, config, export_digest(folder, config)))
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{PROG}: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def export(folder: BuildFolder, config: BuildConfig, made_from: str) -> str:
    """Write `folder.export`; what was written, for people. made_from: its `export_digest`.

    Raises ValueError.
    """
    folder.exported.unlink(missing_ok=True)
    summary = export_build(
        folder.export,
        finished_videos(folder, config),
        config.videos.root.resolve(),
        config.export,
        config.seed,
    )
    note_exported(folder, made_from)
    splits = ", ".join(
        f"{split} {num} videos, {summary.num_segments[split]} segments"
        for split, num in summary.num_videos.items()
    )
    return f"export: {folder.export}: {splits}\n"
