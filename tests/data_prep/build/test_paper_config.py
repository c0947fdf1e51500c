"""The configuration for the paper's data set is one that its models can answer under."""

from affect.config import load_config
from data_prep.build.config import BuildConfig, ProposeSection
from data_prep.build.run import CONFIG_FOLDER


def test_geminis_thoughts_leave_room_for_its_reply() -> None:
    """They count towards the token limit, and their budget is kept only roughly."""
    config = load_config(BuildConfig, CONFIG_FOLDER / "paper.yaml")
    thoughts = config.models[config.roles.propose].extra_body["generationConfig"]["thinkingConfig"]
    reply = ProposeSection().max_tokens
    assert config.propose.max_tokens >= 2 * thoughts["thinkingBudget"] + reply


def test_roles_are_the_papers() -> None:
    roles = load_config(BuildConfig, CONFIG_FOLDER / "paper.yaml").roles
    assert (roles.propose, roles.verify, roles.reason) == ("gemini", "internvl", "qwen3_vl")
    assert set(roles.judges) == {"qwen3_omni", "internvl"}
    assert not roles.allow_self_judging
