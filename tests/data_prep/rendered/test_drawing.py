"""Drawing: changes lie where the truth says, motions move, and colour alone gives no label."""

import numpy as np
import pytest

from data_prep.rendered.drawing import draw_frames, place_shape
from data_prep.rendered.grammar import EMOTIONS
from data_prep.rendered.plan import FRAME_RATE, SPLITS, plan_clip

PLANS = [plan_clip(0, "train", index) for index in range(400)]


def first_scene(name):
    return next(s for plan in PLANS for s in plan.scenes if s.scene.name == name)


def corner_colors(frames):
    """(T, 3): the median over the four corners, which no shape covers all at once."""
    corners = [
        frames[:, y, x]
        for y in (slice(0, 3), slice(-3, None))
        for x in (slice(0, 3), slice(-3, None))
    ]
    return np.median([corner.mean(axis=(1, 2)) for corner in corners], axis=0)


def two_scene_plans(soft, number):
    """Clips of two scenes on different palettes whose change is soft, or hard."""
    return [
        plan
        for plan in PLANS
        if len(plan.scenes) == 2
        and plan.scenes[1].soft_start == soft
        and plan.scenes[0].scene.palette != plan.scenes[1].scene.palette
    ][:number]


def test_frames_have_the_promised_number_and_size():
    frames = draw_frames(PLANS[0])
    assert frames.shape == (PLANS[0].num_frames, 56, 56, 3)
    assert frames.dtype == np.uint8


def test_the_same_plan_gives_the_same_pixels_and_splits_share_none():
    assert np.array_equal(draw_frames(PLANS[3]), draw_frames(plan_clip(0, "train", 3)))
    pictures = {
        draw_frames(plan_clip(0, split, n))[0].tobytes() for split in SPLITS for n in (0, 1)
    }
    assert len(pictures) == 6


def test_a_known_clip_looks_as_ever():
    # Where this fails on purpose, raise WORLD_VERSION: folders made before hold other pictures.
    means = draw_frames(PLANS[0]).mean(axis=(1, 2))
    assert means[[0, 30, 60]] == pytest.approx(
        np.array([[147.4, 128.6, 134.2], [240.5, 107.6, 41.7], [48.0, 18.3, 44.2]]), abs=0.5
    )


def test_a_hard_cut_is_the_frame_at_the_boundary():
    for plan in two_scene_plans(soft=False, number=12):
        steps = np.abs(np.diff(corner_colors(draw_frames(plan)), axis=0)).sum(axis=1)
        assert int(steps.argmax()) + 1 == plan.first_frames[1]


def test_a_soft_change_is_half_done_at_the_boundary():
    for plan in two_scene_plans(soft=True, number=12):
        boundary = plan.first_frames[1]
        colors = corner_colors(draw_frames(plan))
        old, new = colors[: boundary - 1].mean(axis=0), colors[boundary + 1 :].mean(axis=0)
        done = (colors - old) @ (new - old) / ((new - old) @ (new - old))
        expected = [0.0, 1 / 3, 2 / 3, 1.0]
        assert done[boundary - 2 : boundary + 2] == pytest.approx(expected, abs=0.12)
        assert (done[boundary - 1] + done[boundary]) / 2 == pytest.approx(0.5, abs=0.1)


def test_half_a_second_moves_every_motion_but_still():
    def largest_change(name):
        scene = first_scene(name)
        there = [np.array(place_shape(scene, frame)[:3]) for frame in range(30)]
        return max(
            np.abs(a - b).max() for a, b in zip(there, there[FRAME_RATE // 2 :], strict=False)
        )

    assert largest_change("grey still") == 0.0
    for name in ("warm bounce", "warm burst", "dark grow", "grey grow", "dark shake", "grey shake"):
        assert largest_change(name) > 8.0
    assert largest_change("blue drift") > 4.0
    assert largest_change("blue sink") > 8.0


def test_grow_gets_larger_from_the_start_and_sink_falls():
    radii = [place_shape(first_scene("dark grow"), frame)[2] for frame in range(17)]
    assert radii[0] == 4.0
    assert radii == sorted(radii)
    assert radii[-1] > 20.0
    heights = [place_shape(first_scene("blue sink"), frame)[1] for frame in range(14)]
    assert heights == sorted(heights)


def test_the_colour_of_one_frame_tells_the_palette_but_not_the_emotion():
    def middles(index_range):
        for index in index_range:
            frames = draw_frames(PLANS[index])
            firsts = PLANS[index].first_frames
            for scene, first in zip(PLANS[index].scenes, firsts, strict=False):
                color = frames[first + scene.num_frames // 2].mean(axis=(0, 1))
                yield color, scene.emotion, scene.scene.palette

    train, held_out = list(middles(range(60))), list(middles(range(60, 120)))

    def accuracy(which):
        """Of the five nearest colours' majority."""
        hits = 0
        for color, *answer in held_out:
            nearest = sorted(train, key=lambda known: float(np.abs(known[0] - color).sum()))[:5]
            votes = [known[1 + which] for known in nearest]
            hits += max(sorted(set(votes)), key=votes.count) == answer[which]
        return hits / len(held_out)

    assert len(EMOTIONS) == 11
    assert accuracy(1) > 0.9
    assert accuracy(0) < 0.6
