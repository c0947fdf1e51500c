"""Another prompt than the one trained on is an error that names the row."""

from typing import Any

import pytest

from affect.model.policy import model_positions
from affect.model.vllm_video import fold_video_tokens
from evaluation.predictors.vllm_prompt import check_seen, num_video_tokens, video_grid
from tests.tiny import shared_processor, synthetic_clip, tiny_policy, tiny_prompt

CLIP = synthetic_clip(2, num_frames=7, height=56, width=84)
PROMPT = tiny_prompt(shared_processor(), CLIP)
CONFIG = tiny_policy()[0].config
IDS = PROMPT.input_ids.tolist()


def seen(**changes: Any) -> dict[str, Any]:
    """What an engine that does as training does tells of `PROMPT`."""
    positions, _ = model_positions(
        CONFIG, PROMPT.input_ids[None], None, PROMPT.video_grid_thw, PROMPT.second_per_grid_ts
    )
    told = {
        "prompt_ids": IDS,
        "grid_thw": PROMPT.video_grid_thw.flatten().tolist(),
        "positions": positions[:, 0].tolist(),
        "next_position": int(positions.max()) + 1,
    }
    return {**told, **changes}


def check(told: dict[str, Any]) -> None:
    folded = fold_video_tokens(IDS, CONFIG.video_token_id)
    check_seen("bikes", told, folded, CLIP, CONFIG, shared_processor())


def test_grid_and_tokens_are_the_processors() -> None:
    grid = video_grid(shared_processor(), CLIP)
    assert grid == [4, 4, 6] == PROMPT.video_grid_thw.flatten().tolist()
    assert num_video_tokens(shared_processor(), grid) == 24 == IDS.count(CONFIG.video_token_id)


def test_the_prompt_of_training_passes() -> None:
    check(seen())


def test_other_ids_another_grid_and_other_positions_are_refused() -> None:
    one_less = list(IDS)
    one_less.remove(CONFIG.video_token_id)
    for changes in (
        {"prompt_ids": [*IDS[:-1], IDS[-1] + 1]},
        {"prompt_ids": one_less},
        {"grid_thw": [4, 6, 4]},
    ):
        with pytest.raises(ValueError, match="row bikes: vLLM sees a video grid of"):
            check(seen(**changes))
    positions = seen()["positions"]
    positions[0][-1] += 1
    with pytest.raises(ValueError, match="row bikes: vLLM's positions reach"):
        check(seen(positions=positions))
