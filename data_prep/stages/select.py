"""Select: leave out what shows no event: too short, static, a slideshow (section 3.2 of the paper).

    selected = await select.run(inputs)      # Selected(rejection="slideshow")

Hash and flow alone, as in the paper, keep a slideshow of pictures that differ: those are told by
how much of the clip nothing changes.
"""

from data_prep.build.config import SelectSection
from data_prep.records import Looked, Motion, Selected
from data_prep.stages.stage import stage


@stage()
async def select(looked: Looked, settings: SelectSection) -> Selected:
    return Selected(rejection=_rejection(looked, settings))


def _rejection(looked: Looked, settings: SelectSection) -> str | None:
    if looked.duration_seconds < settings.min_duration_seconds:
        return "too_short"
    is_static = _is_static(looked.motion, settings)
    if looked.motion.still_share >= settings.min_slideshow_still_share:
        return "static" if is_static and not looked.cuts else "slideshow"
    return "static" if is_static else None


def _is_static(motion: Motion, settings: SelectSection) -> bool:
    """Both measures must be low; of a single frame, which has neither, both are."""
    distance, flow_pixels = motion.mean_hash_distance, motion.mean_flow_pixels
    return (distance is None or distance <= settings.max_static_hash_distance) and (
        flow_pixels is None or flow_pixels <= settings.max_static_flow_pixels
    )
