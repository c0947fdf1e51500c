"""The truth of a clip of the rendered world, in place of all stages that ask a model.

    Decided(provenance="rendered", segments=(FinalSegment(0.0, 2.5, "Fear", "A dark ..."), ...))

The generator's plan of a clip follows from the world's seed and the clip's own name: nothing has to
be annotated. `videos/train/00012.mp4` is clip 12 of `train`. What was decoded is held against the
plan, so that another world's clip is refused instead of being given a wrong truth.
"""

from data_prep.build.config import RenderedSection
from data_prep.records import Decided, FinalSegment, Looked, Selected, StageFailure, Video
from data_prep.rendered.drawing import SIDE_PIXELS
from data_prep.rendered.plan import FRAME_RATE, ClipPlan, named_clip, plan_clip
from data_prep.stages.stage import stage


@stage()
async def truth(
    video: Video, looked: Looked, selected: Selected, settings: RenderedSection
) -> Decided:
    """Raises StageFailure (`not_rendered`): a file that is none of the world's, or whose pictures
    are not as many, as long or as large as the plan of this seed."""
    plan = _plan_of(video.id, settings.seed)
    drawn = (plan.num_frames, plan.num_frames / FRAME_RATE, SIDE_PIXELS, SIDE_PIXELS)
    found = (looked.num_frames, round(looked.duration_seconds, 6), looked.width, looked.height)
    if found != drawn:
        raise StageFailure(
            "not_rendered",
            f"{found[0]} frames, {found[1]:g} s, {found[2]}x{found[3]} pixels, but clip {plan.id} "
            f"of seed {settings.seed} has {drawn[0]} frames, {drawn[1]:g} s, "
            f"{drawn[2]}x{drawn[3]}; set rendered.seed to the one in the world's request.json",
        )
    segments = plan.timeline().segments
    return Decided(
        provenance="rendered",
        segments=tuple(
            FinalSegment(
                start_seconds=segment.start_seconds,
                end_seconds=segment.end_seconds,
                emotion=segment.emotion,
                reason=segment.reason,
            )
            for segment in segments
        ),
    )


def _plan_of(video_id: str, seed: int) -> ClipPlan:
    named = named_clip(video_id)
    if named is None:
        raise StageFailure(
            "not_rendered",
            f"{video_id!r} is no clip of the rendered world (videos/train/00012.mp4); "
            "videos.root is the folder that dar render made, videos.include its videos",
        )
    return plan_clip(seed, *named)
