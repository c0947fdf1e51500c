"""What would tear groups apart or have no effect is refused; the samples ignore the layout."""

import re
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trl import GRPOConfig

from tests.train.grpo_fixtures import SyntheticClipStore, build_trainer, clips, rows
from train.completion_seed import completion_seed
from train.grpo_settings import check_batch_layout, check_num_rows, check_sampling


def config(folder: Path, **overrides: Any) -> GRPOConfig:
    return GRPOConfig(
        **{
            "output_dir": str(folder),
            "use_cpu": True,
            "bf16": False,
            "report_to": "none",
            "num_generations": 4,
            "per_device_train_batch_size": 8,
            **overrides,
        }
    )


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"per_device_train_batch_size": 2, "steps_per_generation": 2},
            "per_device_train_batch_size (2) x gradient_accumulation_steps (1) must be a multiple "
            "of num_generations (4)",
        ),
        (
            {"per_device_train_batch_size": 6, "gradient_accumulation_steps": 2},
            "per_device_train_batch_size (6) must be a multiple of num_generations (4) or divide",
        ),
        (
            {"gradient_accumulation_steps": 2, "steps_per_generation": 3},
            "steps_per_generation (3) must be a multiple of gradient_accumulation_steps (2)",
        ),
        (
            {"gradient_accumulation_steps": 4, "steps_per_generation": 2},
            "steps_per_generation (2) must be a multiple of gradient_accumulation_steps (4)",
        ),
        (
            {"gradient_accumulation_steps": 2, "steps_per_generation": 4, "save_steps": 5},
            "save_steps (5) must be a multiple of 2",
        ),
        ({"num_iterations": 3, "save_steps": 100}, "save_steps (100) must be a multiple of 3"),
        ({"num_iterations": 2, "save_steps": 0.25}, "save_steps (0.25) must be a multiple of 2"),
    ],
)
def test_layouts_that_tear_are_refused(
    overrides: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        check_batch_layout(config(tmp_path, **overrides))


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"gradient_accumulation_steps": 4},
        {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4},
        {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 4},
        {"gradient_accumulation_steps": 2, "steps_per_generation": 4, "save_steps": 6},
        {"num_iterations": 3, "save_steps": 99},
        {"num_iterations": 3, "save_strategy": "epoch"},
        {"num_iterations": 3, "save_steps": 100, "save_strategy": "no"},
        {"save_steps": 0.25},
    ],
)
def test_layouts_that_hold_are_taken(overrides: dict[str, Any], tmp_path: Path) -> None:
    check_batch_layout(config(tmp_path, **overrides))


def test_fewer_rows_than_one_sampling_takes_are_refused(tmp_path: Path) -> None:
    args = config(tmp_path, gradient_accumulation_steps=3)  # 8 x 3 / 4 = 6 prompts
    check_num_rows(args, 6)
    with pytest.raises(ValueError, match=r"there are 5 rows, but one sampling takes 6 different"):
        check_num_rows(args, 5)


@pytest.mark.parametrize(
    ("overrides", "truncated", "message"),
    [
        ({"min_p": 0.1}, "keep", "min_p (0.1) has no effect here"),
        ({"repetition_penalty": 1.1}, "keep", "repetition_penalty (1.1) has no effect here"),
        ({"generation_kwargs": {"length_penalty": 2}}, "keep", "generation_kwargs"),
        ({"cache_implementation": "static"}, "keep", "cache_implementation ('static')"),
        ({}, "dorp", "truncated is 'dorp', not one of keep, drop, trl"),
        ({}, "trl", "mask_truncated_completions is False and truncated is 'trl'"),
        ({"mask_truncated_completions": True}, "drop", "mask_truncated_completions is True"),
    ],
)
def test_settings_without_effect_are_refused(
    overrides: dict[str, Any], truncated: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        check_sampling(config(tmp_path, **overrides), truncated)


def test_sampling_on_shards_is_refused(tmp_path: Path) -> None:
    for stage, gathers, refused in ((3, False, True), (3, True, False), (2, False, False)):
        args = config(tmp_path, ds3_gather_for_generation=gathers)
        args.deepspeed_plugin = SimpleNamespace(zero_stage=stage)
        with (
            pytest.raises(ValueError, match="ds3_gather_for_generation")
            if refused
            else nullcontext()
        ):
            check_sampling(args, "keep")


@pytest.mark.parametrize("truncated", ["keep", "drop", "trl"])
def test_the_three_ways_with_truncated_completions_are_taken(
    truncated: str, tmp_path: Path
) -> None:
    check_sampling(config(tmp_path, mask_truncated_completions=truncated == "trl"), truncated)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        # TRL itself only asks that groups divide the batch of all accumulation steps.
        ({"per_device_train_batch_size": 3, "gradient_accumulation_steps": 2}, "whole groups"),
        ({"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2}, "2 rows"),
        ({"repetition_penalty": 1.2}, "no effect"),
    ],
)
def test_the_trainer_itself_refuses(
    overrides: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        build_trainer(tmp_path, rows("ab"), **overrides)


def test_an_evaluation_batch_that_tears_a_group_is_refused(tmp_path: Path) -> None:
    trainer = build_trainer(
        tmp_path,
        rows("ab"),
        eval_rows=rows("ab"),
        num_generations_eval=4,
        per_device_eval_batch_size=4,
    )
    trainer.args.per_device_eval_batch_size = 2
    with pytest.raises(ValueError, match="2 rows that are not whole groups of 4"):
        trainer.evaluate()


def test_seeds_in_literal_numbers() -> None:
    # The first eight bytes of SHA-256 of "0/0/a/0" and so on, halved.
    assert completion_seed(0, 0, "a", 0) == 5432320353152196533
    assert completion_seed(0, 1, "a", 0) == 7355748047970121696
    assert completion_seed(7, 12, "train/00012", 3) == 4702712716306862430


def test_seeds_are_all_distinct_and_in_range() -> None:
    seeds = [
        completion_seed(seed, step, row, sample)
        for seed in range(3)
        for step in range(20)
        for row in ("a", "b", "train/00012", "1", "11")
        for sample in range(12)
    ]
    assert len(set(seeds)) == 3 * 20 * 5 * 12
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) > 2**62  # all of the range is used


@given(
    first=st.tuples(st.integers(0, 99), st.integers(0, 999), st.text(), st.integers(0, 63)),
    second=st.tuples(st.integers(0, 99), st.integers(0, 999), st.text(), st.integers(0, 63)),
)
def test_other_arguments_have_another_seed(
    first: tuple[int, int, str, int], second: tuple[int, int, str, int]
) -> None:
    assert (completion_seed(*first) == completion_seed(*second)) == (first == second)


LAYOUTS = [
    {"per_device_train_batch_size": 12},
    {"per_device_train_batch_size": 6, "gradient_accumulation_steps": 2},
    {"per_device_train_batch_size": 3, "gradient_accumulation_steps": 4},
]


def test_the_layout_of_the_batch_does_not_change_the_samples(tmp_path: Path) -> None:
    found = []
    for layout in LAYOUTS:
        trainer = build_trainer(
            tmp_path, rows("abcd"), num_generations=3, max_steps=2, learning_rate=0.0, **layout
        )
        trainer.train()
        samples: dict[tuple[int, str, int], list[int]] = {}
        for step, sampling in enumerate(trainer.records.samplings):
            for index, one in enumerate(sampling.completions):
                samples[step, sampling.rows[index]["id"], index % 3] = one.token_ids
        found.append(samples)
    assert len(found[0]) == 24
    assert found[0] == found[1] == found[2]
    assert len({tuple(ids) for ids in found[0].values()}) == 24  # no two from the same seed


def test_a_rows_place_in_the_batch_does_not_change_its_samples(tmp_path: Path) -> None:
    found = []
    for names in ("abcd", "dbca"):
        trainer = build_trainer(
            tmp_path,
            rows(names),
            store=SyntheticClipStore(clips(rows("abcd"))),
            shuffle_dataset=False,
        )
        trainer.train()
        [sampling] = trainer.records.samplings
        assert [one["id"] for one in sampling.rows[::2]] == list(names)
        found.append(
            {
                (one["id"], index % 2): sampled.token_ids
                for index, (one, sampled) in enumerate(
                    zip(sampling.rows, sampling.completions, strict=True)
                )
            }
        )
    assert found[0] == found[1]


def test_the_runs_seed_changes_the_samples(tmp_path: Path) -> None:
    texts = []
    for seed in (1, 1, 2):
        trainer = build_trainer(tmp_path, rows("ab"), seed=seed)
        trainer.train()
        [sampling] = trainer.records.samplings
        texts.append(
            {
                (one["id"], index % 2): sampled.token_ids
                for index, (one, sampled) in enumerate(
                    zip(sampling.rows, sampling.completions, strict=True)
                )
            }
        )
    assert texts[0] == texts[1]
    assert all(texts[0][key] != texts[2][key] for key in texts[0])
