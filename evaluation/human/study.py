"""Which videos are rated, what of each system's reply, and in which order each expert sees it.

    videos = sample_videos([clip.id for clip in runs[0].clips], 100, seed=0)
    answers, items = study_items(runs, videos, seed=0)
    items[0].id, items[0].system        # "i3f9a1c60d2e4", "demo/grpo"; experts see only the first

Every segment that can be read of a reply is an item, as `judge_paper` reads it. A reply without
one, and a clip without a reply, leave nothing to rate: they are counted in the key. Videos are
sampled from all there are, answered or not, since the others would flatter who fails often.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Literal

from affect.frozen import Frozen
from affect.printable import printable
from affect.sheets.items import SheetItem, SheetKey, drawn_place, orders
from affect.sheets.sheet_csv import SheetLine
from evaluation.metrics import Clip
from evaluation.run_results import RunResults

NUM_VIDEOS, NUM_EXPERTS = 100, 5
"""Paper, section 5.2, human evaluation."""


class StudyItem(SheetItem):
    """One predicted segment. system: the label of the run that predicted it; segment: its place
    among those that were read, as judgements number them."""

    system: str


class StudyRun(Frozen):
    """A run that is rated. path: of its folder. predictions_sha256: of the replies' file."""

    system: str
    path: str
    predictions_sha256: str


class StudyAnswer(Frozen):
    """One system's reply to one sampled video. num_true_segments: of the annotated timeline."""

    system: str
    row_id: str
    status: Literal["rated", "unparsed", "missing"]
    num_segments: int
    num_true_segments: int


class StudyKey(SheetKey[StudyItem]):
    """What the sheets of one study hold. name: of the predictions. rows, video_root: where the
    videos' rows and files were."""

    name: str
    rows: str
    video_root: str
    runs: tuple[StudyRun, ...]
    durations_seconds: dict[str, float]
    answers: tuple[StudyAnswer, ...]

    @property
    def systems(self) -> tuple[str, ...]:
        """Labels, in the order in which the runs were named."""
        return tuple(run.system for run in self.runs)

    @property
    def videos(self) -> tuple[str, ...]:
        """Ids of the sampled clips, sorted."""
        return tuple(sorted(self.durations_seconds))


def sample_videos(clip_ids: Sequence[str], num_videos: int, seed: int) -> list[str]:
    """So many ids at random, sorted; the same ones whatever the order of `clip_ids`.

    Raises ValueError where there are not so many.
    """
    if not 1 <= num_videos <= len(clip_ids):
        raise ValueError(
            f"--videos {num_videos}: from 1 to {len(clip_ids)} can be sampled, since the rows hold "
            f"{len(clip_ids)} clips"
        )
    return sorted(sorted(clip_ids, key=lambda one: drawn_place(seed, one))[:num_videos])


def study_items(
    runs: Sequence[RunResults], videos: Sequence[str], seed: int
) -> tuple[tuple[StudyAnswer, ...], tuple[StudyItem, ...]]:
    """Every system's answer to each video, and their segments, by video, system and place."""
    clips = {run.label: {clip.id: clip for clip in run.clips} for run in runs}
    rows = {truth.id: truth.row for truth in runs[0].truths}
    answers: list[StudyAnswer] = []
    items: list[StudyItem] = []
    for video in videos:
        for run in runs:
            clip = clips[run.label][video]
            answers.append(_answer(run.label, clip))
            segments = () if clip.reply is None else clip.reply.segments
            for place, segment in enumerate(segments):
                items.append(
                    StudyItem(
                        id="i" + drawn_place(seed, run.label, video, place)[:12],
                        row_id=video,
                        video=rows[video].video,
                        segment=place,
                        num_segments=len(segments),
                        start_seconds=segment.start_seconds,
                        end_seconds=segment.end_seconds,
                        emotion=printable(segment.emotion),
                        reason=printable(segment.reason),
                        system=run.label,
                    )
                )
    assert len({item.id for item in items}) == len(items)
    return tuple(answers), tuple(items)


def _answer(system: str, clip: Clip) -> StudyAnswer:
    num_segments = 0 if clip.reply is None else len(clip.reply.segments)
    status: Literal["rated", "unparsed", "missing"] = "rated"
    if num_segments == 0:
        status = "missing" if clip.reply is None else "unparsed"
    return StudyAnswer(
        system=system,
        row_id=clip.id,
        status=status,
        num_segments=num_segments,
        num_true_segments=len(clip.truth.segments),
    )


def expert_lines(key: StudyKey) -> Mapping[str, Sequence[SheetLine]]:
    """Each expert's sheet: videos in an order of his own, and the answers to each video in one that
    is drawn anew for each expert and video; a segment comes after the one before it."""
    return {
        expert: [
            line
            for video, group in groupby(ordered, key=lambda item: item.row_id)
            for line in _video_lines(key, expert, video, list(group))
        ]
        for expert, ordered in orders(key.items, key.experts, key.seed).items()
    }


def _video_lines(
    key: StudyKey, expert: str, video: str, items: Sequence[StudyItem]
) -> list[SheetLine]:
    systems = sorted(
        {item.system for item in items},
        key=lambda system: drawn_place(key.seed, expert, video, system),
    )
    return [
        SheetLine(item, key.durations_seconds[video], f"{number} of {len(systems)}")
        for number, system in enumerate(systems, 1)
        for item in items
        if item.system == system
    ]
