"""The rendered world's truth: the plan's own timeline, and a refusal of every other clip."""

import asyncio

import pytest

from data_prep.build.config import RenderedSection
from data_prep.records import Decided, Looked, Selected, StageFailure, Video
from data_prep.rendered.plan import named_clip, plan_clip
from data_prep.stages.truth import truth
from tests.data_prep.stages.clips import looked_at

PLAN = plan_clip(0, "train", 12)


def looked_like(**changes: object) -> Looked:
    values = {"num_frames": PLAN.num_frames, "width": 56, "height": 56, **changes}
    return looked_at(PLAN.duration_seconds).model_copy(update=values)


def run(video_id: str, looked: Looked, seed: int = 0) -> Decided:
    video = Video(id=video_id, sha256="ab" * 32)
    record = asyncio.run(truth.function(video, looked, Selected(), RenderedSection(seed=seed)))
    assert isinstance(record, Decided)
    return record


def test_the_truth_is_the_plans_timeline() -> None:
    record = run("videos/train/00012.mp4", looked_like())
    assert (record.provenance, record.rejection, record.rounds) == ("rendered", None, ())
    assert [
        (one.start_seconds, one.end_seconds, one.emotion, one.reason) for one in record.segments
    ] == [
        (one.start_seconds, one.end_seconds, one.emotion, one.reason)
        for one in PLAN.timeline().segments
    ]


@pytest.mark.parametrize(
    "changes",
    [{"num_frames": PLAN.num_frames - 1}, {"duration_seconds": 5.25}, {"width": 64}],
    ids=str,
)
def test_other_pictures_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(StageFailure, match=r"set rendered\.seed to the one") as raised:
        run("videos/train/00012.mp4", looked_like(**changes))
    assert raised.value.kind == "not_rendered"


def test_another_seed_is_refused() -> None:
    other = next(
        seed for seed in range(1, 9) if plan_clip(seed, "train", 12).num_frames != PLAN.num_frames
    )
    with pytest.raises(StageFailure, match=f"train/00012 of seed {other} has"):
        run("videos/train/00012.mp4", looked_like(), seed=other)


@pytest.mark.parametrize(
    "video_id",
    [
        "train/00012.mp4", "videos/train/12.mp4", "videos/train/000012.mp4",
        "videos/valid/00012.mp4", "videos/train/00012.mkv", "videos/train/00012.mp4/a.mp4",
        "x/videos/train/00012.mp4", "videos/train/\u0661\u0661\u0661\u0661\u0661.mp4",
    ],
)  # fmt: skip
def test_no_other_file_has_a_truth(video_id: str) -> None:
    assert named_clip(video_id) is None
    with pytest.raises(StageFailure, match="is no clip of the rendered world"):
        run(video_id, looked_like())


def test_names_lead_back_to_their_clips() -> None:
    for plan in (PLAN, plan_clip(3, "test", 0), plan_clip(0, "dev", 123456)):
        assert named_clip(plan.video) == (plan.split, plan.index)
