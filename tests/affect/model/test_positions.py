"""Positions, in literal numbers and against a slow reference."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from affect.model.positions import mrope_positions

VIDEO, IMAGE, TEXT = 90, 91, 5


def positions(
    ids: list[list[int]], grids: list[list[int]], seconds: list[float], mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    return mrope_positions(
        torch.tensor(ids),
        mask,
        torch.tensor(grids).reshape(-1, 3),
        seconds,
        video_token_id=VIDEO,
        image_token_id=IMAGE,
        spatial_merge_size=2,
        tokens_per_second=2,
    )


def row(num_before: int, num_video: int, num_after: int) -> list[int]:
    return [TEXT] * num_before + [VIDEO] * num_video + [TEXT] * num_after


def test_thirty_frames_at_two_per_second_put_the_next_text_at_31() -> None:
    # 30 frames = 15 grids of 16x16 patches = 8x8 tokens each; a grid lasts 1 s, 2 positions.
    found, delta = positions([row(2, 15 * 64, 3)], [[15, 16, 16]], [1.0])
    temporal = found[0, 0, 2:-3].view(15, 64)
    assert temporal[:, 0].tolist() == [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
    assert (temporal == temporal[:, :1]).all()
    assert found[1, 0, 2:10].tolist() == [2] * 8  # height: one row of 8 tokens
    assert found[2, 0, 2:10].tolist() == [2, 3, 4, 5, 6, 7, 8, 9]  # width
    assert found[:, 0, :2].tolist() == [[0, 1]] * 3
    assert found[:, 0, -3:].tolist() == [[31, 32, 33]] * 3
    assert delta.tolist() == [[34 - (2 + 960 + 3)]]


@pytest.mark.parametrize(
    ("fps", "step", "next_text"), [(0.5, 8, 27), (1.0, 4, 15), (2.0, 2, 9), (4.0, 1, 8)]
)
def test_the_step_between_grids_follows_the_frame_rate(
    fps: float, step: int, next_text: int
) -> None:
    # 4 grids of 12x12 patches (6x6 tokens) at position 2: the last grid stands at 2 + 3 * step,
    # the last row and column at 2 + 5 = 7; text follows the larger of the two.
    found, _ = positions([row(2, 4 * 36, 1)], [[4, 12, 12]], [2 / fps])
    expected = [2 + step * grid for grid in range(4)]
    assert found[0, 0, 2:-1].view(4, 36)[:, 0].tolist() == expected
    assert found[:, 0, -1].tolist() == [next_text] * 3


def test_two_videos_of_different_size_in_a_padded_batch() -> None:
    # Row 0: 1 text, 2 grids of 2x2 patches (1 token each), 1 text. Row 1: 2 text, 1 grid of 4x6
    # patches (2x3 tokens), 1 text; the shorter row is padded on the left.
    first, second = row(1, 2, 1), row(2, 6, 1)
    pad = len(second) - len(first)
    ids = [[0] * pad + first, second]
    mask = torch.tensor([[0] * pad + [1] * len(first), [1] * len(second)])
    found, deltas = positions(ids, [[2, 2, 2], [1, 4, 6]], [1.5, 1.0], mask)
    assert found[:, 0, pad:].tolist() == [[0, 1, 4, 5], [0, 1, 1, 5], [0, 1, 1, 5]]
    assert found[:, 0, :pad].eq(0).all()
    assert found[:, 1].tolist() == [
        [0, 1, 2, 2, 2, 2, 2, 2, 5],
        [0, 1, 2, 2, 2, 3, 3, 3, 5],
        [0, 1, 2, 3, 4, 2, 3, 4, 5],
    ]
    assert deltas.tolist() == [[6 - 4], [6 - 9]]


def test_two_videos_in_one_row_take_their_grids_in_order() -> None:
    ids = [TEXT, *[VIDEO] * 2, TEXT, *[VIDEO] * 4, TEXT]
    found, _ = positions([ids], [[2, 2, 2], [1, 4, 4]], [1.0, 1.0])
    assert found[0, 0].tolist() == [0, 1, 3, 4, 5, 5, 5, 5, 7]
    assert found[1, 0].tolist() == [0, 1, 1, 4, 5, 5, 6, 6, 7]


def test_text_only_counts_up() -> None:
    found, delta = positions([[TEXT] * 5], [], [])
    assert found.tolist() == [[[0, 1, 2, 3, 4]]] * 3
    assert delta.tolist() == [[0]]


def test_a_still_image_does_not_advance_in_time() -> None:
    found, _ = mrope_positions(
        torch.tensor([[TEXT, IMAGE, IMAGE, IMAGE, IMAGE, TEXT]]),
        None,
        None,
        None,
        image_grid_thw=torch.tensor([[1, 4, 4]]),
        video_token_id=VIDEO,
        image_token_id=IMAGE,
    )
    assert found[0, 0].tolist() == [0, 1, 1, 1, 1, 3]


@pytest.mark.parametrize(
    ("ids", "grids", "seconds", "message"),
    [
        (row(1, 2, 1), [[2, 2, 2]], [], "second_per_grid_ts"),
        (row(1, 2, 1), [[2, 2, 2]], [float("nan")], "positive and finite"),
        (row(1, 2, 1), [[2, 2, 2]], [0.0], "positive and finite"),
        (row(1, 1, 1), [[2, 2, 2]], [1.0], "needs 2 vision tokens"),
        (row(1, 2, 1), [], [], "more videos or images"),
        (row(1, 0, 1), [[2, 2, 2]], [1.0], "1 videos and 0 images were not met"),
    ],
)
def test_vision_tokens_and_grids_must_agree(
    ids: list[int], grids: list[list[int]], seconds: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        positions([ids], grids, seconds)


def slow_reference(ids: list[int], grids: list[list[int]], seconds: list[float]) -> list[list[int]]:
    """One token at a time, as the rule is stated."""
    out: list[list[int]] = []
    videos = list(zip(grids, seconds, strict=True))
    at = 0
    while at < len(ids):
        start = max((max(position) for position in out), default=-1) + 1
        if ids[at] != VIDEO:
            out.append([start] * 3)
            at += 1
            continue
        (num_t, num_h, num_w), second = videos.pop(0)
        for t in range(num_t):
            for h in range(num_h // 2):
                for w in range(num_w // 2):
                    out.append([start + int(t * 2 * second), start + h, start + w])
                    at += 1
    return out


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.integers(1, 4),
            st.integers(1, 3),
            st.integers(1, 3),
            st.sampled_from([0.5, 1.0, 2.0, 4.0, 0.25]),
        ),
        max_size=3,
    ),
    st.integers(0, 4),
)
def test_equals_the_slow_reference(
    videos: list[tuple[int, int, int, int, float]], num_pad: int
) -> None:
    ids: list[int] = []
    for num_text, num_t, num_h, num_w, _ in videos:
        ids += [TEXT] * (num_text + 1) + [VIDEO] * (num_t * num_h * num_w)
    ids += [TEXT]
    grids = [[t, 2 * h, 2 * w] for _, t, h, w, _ in videos]
    seconds = [second for *_, second in videos]
    mask = torch.tensor([[0] * num_pad + [1] * len(ids)])
    found, delta = positions([[0] * num_pad + ids], grids, seconds, mask)
    expected = slow_reference(ids, grids, seconds)
    assert found[:, 0, num_pad:].T.tolist() == expected
    assert delta.item() == max(max(position) for position in expected) + 1 - len(ids)
