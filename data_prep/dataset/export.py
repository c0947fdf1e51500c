"""The end of a build: all finished videos as rows in three splits, statistics and a data set.

    export_build(folder.export, finished_videos(folder, config), root, config.export, config.seed)

    export/
        train.sft.jsonl train.grpo.jsonl dev.* test.*   rows, sorted by id; paths below the root
        split.json          id -> split, group of copies, strata; how alike the splits are
        statistics.json     figure 3 and appendix C, beside what the paper states
        plots/NAME.svg|png  the same, drawn
        report.html         all of it on one page
        dataset/            what `datasets.load_dataset` reads (unless with_videos is false)
        done.json           written last

Equal videos, configuration and seed give equal bytes, in whatever order the videos come. A split
without videos has no files. The rows are on disk and not in memory between the two passes.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from data_prep.build.config import ExportSection
from data_prep.dataset.balance import balance
from data_prep.dataset.card import render_card
from data_prep.dataset.comparison import beside_paper
from data_prep.dataset.copies import Group, copy_groups
from data_prep.dataset.export_folder import ExportFolder
from data_prep.dataset.finished import FinishedVideo
from data_prep.dataset.folder_split import split_by_folder
from data_prep.dataset.hf_folder import place_video, write_metadata
from data_prep.dataset.plots import draw_plots
from data_prep.dataset.report import Report, render_report
from data_prep.dataset.split import SPLITS, split_videos, target_counts
from data_prep.dataset.statistics import Gathered
from data_prep.dataset.stored import StoredVideo, store_videos
from data_prep.dataset.strata import strata_of
from data_prep.dataset.streamed import Spool
from data_prep.export import SPLIT_FILES


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """num_videos, num_segments: of each split. num_copies: videos that repeat another one, in
    num_copy_groups groups, the largest of which has largest_copy_group videos. provenances: rows
    of each. largest_deviation: of a stratum in a split, in videos; None without videos. files:
    written, below the folder, without the videos."""

    num_videos: Mapping[str, int]
    num_segments: Mapping[str, int]
    num_copies: int
    num_copy_groups: int
    largest_copy_group: int
    provenances: Mapping[str, int]
    largest_deviation: float | None
    files: tuple[str, ...] = ()


def export_build(
    out: Path,
    videos: Iterable[FinishedVideo],
    video_root: Path,
    settings: ExportSection,
    seed: int,
) -> ExportSummary:
    """Write the export of a build into `out`; what an earlier one left there is replaced.

    Raises ValueError for a video that is gone, and for drafts beside verified rows unless the
    settings allow it; whatever happens, `done.json` is there only after all else.
    """
    folder = ExportFolder(out)
    gathered = Gathered()
    with Spool(out) as spool:
        stored = store_videos(videos, video_root, spool, gathered)
        provenances = _provenances(stored, settings)
        groups = copy_groups(
            [one.facts.id for one in stored],
            [one.facts.sha256 for one in stored],
            [one.facts.fingerprint for one in stored],
            settings.max_copy_distance,
        )
        strata = {one.facts.id: strata_of(one.facts) for one in stored}
        split_of = (
            split_by_folder(strata, groups)
            if settings.split == "folder"
            else split_videos(
                strata,
                groups,
                test_share=settings.test_share,
                dev_share=settings.dev_share,
                seed=seed,
            )
        )
        in_split = {
            split: [one for one in stored if split_of[one.facts.id] == split] for split in SPLITS
        }
        balanced = balance(strata, split_of)
        summary = _summary(in_split, groups, provenances, balanced)
        document = gathered.document()
        _write_rows(folder, spool, in_split)
        folder.write_json(
            "split.json", _split_document(settings, seed, groups, strata, split_of, balanced)
        )
        _write_report(folder, document, balanced, summary)
        if settings.with_videos and stored:
            _write_dataset(folder, spool, video_root, in_split, document, summary)
    counts = {name: value for name, value in asdict(summary).items() if name != "files"}
    return ExportSummary(**counts, files=folder.finish(counts))


def _provenances(stored: Sequence[StoredVideo], settings: ExportSection) -> dict[str, int]:
    counts = Counter(one.facts.provenance for one in stored)
    if len(counts) > 1 and not settings.mix_provenances:
        told = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        raise ValueError(
            f"these rows would stand together: {told}. Export them apart, or say "
            "export.mix_provenances: true (each row says which it is)"
        )
    return dict(sorted(counts.items()))


def _summary(
    in_split: Mapping[str, Sequence[StoredVideo]],
    groups: Sequence[Group],
    provenances: Mapping[str, int],
    balanced: Mapping[str, Any],
) -> ExportSummary:
    sizes = [len(group) for group in groups if len(group) > 1]
    return ExportSummary(
        num_videos={split: len(there) for split, there in in_split.items()},
        num_segments={
            split: sum(one.facts.num_segments for one in there) for split, there in in_split.items()
        },
        num_copies=sum(sizes) - len(sizes),
        num_copy_groups=len(sizes),
        largest_copy_group=max(sizes, default=0),
        provenances=provenances,
        largest_deviation=balanced["largest_deviation"],
    )


def _write_rows(
    folder: ExportFolder, spool: Spool, in_split: Mapping[str, Sequence[StoredVideo]]
) -> None:
    for split, there in in_split.items():
        if there:
            sft, grpo = (pattern.format(split=split) for pattern in SPLIT_FILES)
            folder.write_lines(sft, (spool.read(one.sft) for one in there))
            folder.write_lines(grpo, (spool.read(one.grpo) for one in there))


def _split_document(
    settings: ExportSection,
    seed: int,
    groups: Sequence[Group],
    strata: Mapping[str, tuple[str, ...]],
    split_of: Mapping[str, str],
    balanced: Mapping[str, Any],
) -> dict[str, Any]:
    """group: the first id of a group of copies; null for a video without copies."""
    group_of = {name: group[0] for group in groups if len(group) > 1 for name in group}
    is_dealt = settings.split == "stratified"
    targets = target_counts(len(strata), settings.test_share, settings.dev_share)
    return {
        "split": settings.split,
        "seed": seed,
        "test_share": settings.test_share,
        "dev_share": settings.dev_share,
        "max_copy_distance": settings.max_copy_distance,
        "target_num_videos": targets if is_dealt else None,
        "balance": balanced,
        "videos": {
            name: {"split": split, "group": group_of.get(name), "strata": list(strata[name])}
            for name, split in split_of.items()
        },
    }


def _write_report(
    folder: ExportFolder,
    document: Mapping[str, Any],
    balanced: Mapping[str, Any],
    summary: ExportSummary,
) -> None:
    comparison = beside_paper(document, summary.num_videos)
    folder.write_json("statistics.json", {**document, "beside_paper": comparison})
    svgs = {}
    for name, files in draw_plots(document):
        for kind, data in files.items():
            folder.write_bytes(f"plots/{name}.{kind}", data)
        svgs[name] = files["svg"]
    page = render_report(
        Report(
            comparison=comparison,
            balance=balanced,
            provenances=summary.provenances,
            num_copies=summary.num_copies,
            num_copy_groups=summary.num_copy_groups,
            largest_copy_group=summary.largest_copy_group,
            svgs=svgs,
        )
    )
    folder.write_bytes("report.html", page.encode())


def _write_dataset(
    folder: ExportFolder,
    spool: Spool,
    video_root: Path,
    in_split: Mapping[str, Sequence[StoredVideo]],
    document: Mapping[str, Any],
    summary: ExportSummary,
) -> None:
    for split, there in in_split.items():
        if not there:
            continue
        for one in there:
            target = folder.add_video(f"dataset/{split}/{one.file_name}")
            place_video(video_root, one.facts.video, one.facts.sha256, target)
        write_metadata(
            folder.add_file(f"dataset/{split}/metadata.parquet"),
            ((one.file_name, json.loads(spool.read(one.grpo))) for one in there),
        )
    card = render_card(summary.num_videos, document, summary.provenances, summary.num_copies)
    folder.write_bytes("dataset/README.md", card.encode())
