"""The stages stand in the paper's order, and each reads only what was made before it."""

import pytest

from data_prep.records import Decided
from data_prep.stages import OFFLINE_STAGES, RENDERED_STAGES, STAGES, check_order, stages_for
from data_prep.stages.stage import Stage


def names(stages: tuple[Stage, ...]) -> list[str]:
    return [stage.name for stage in stages]


def test_the_order() -> None:
    assert names(STAGES) == [
        "look", "select", "propose", "snap", "verify", "describe", "ground", "tag", "reason",
        "judge", "decide",
    ]  # fmt: skip
    assert names(OFFLINE_STAGES) == ["look", "select", "draft"]
    assert names(RENDERED_STAGES) == ["look", "select", "truth"]


@pytest.mark.parametrize("annotator", ["models", "offline", "rendered"])
def test_every_annotator_ends_with_a_decision(annotator: str) -> None:
    assert stages_for(annotator)[-1].record is Decided


def test_models_are_asked_by_one_annotator_only() -> None:
    assert not [stage.name for stage in (*OFFLINE_STAGES, *RENDERED_STAGES) if stage.roles]
    asked = {role for stage in STAGES for role in stage.roles}
    assert asked == {"propose", "verify", "describe", "tag", "reason", "judge_1", "judge_2"}


def test_a_stage_before_what_it_reads_is_refused() -> None:
    with pytest.raises(AssertionError, match="select reads Looked, which no earlier stage makes"):
        check_order((STAGES[1], STAGES[0]))
    with pytest.raises(AssertionError, match="look makes a Looked again"):
        check_order((STAGES[0], STAGES[0]))
