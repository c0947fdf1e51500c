"""Which adapter a run starts with: a new one, the one it was given, or an error that says why."""

from pathlib import Path
from typing import Any

import pytest
import torch

from affect.model.adapter import AdapterPolicy, adapter_config
from tests.tiny_adapter import adapter_weights, move_adapter, save_adapter
from tests.train.grpo_fixtures import checkpoint
from tests.train.lora_runs import LORA, load_run, start
from train.grpo_config import GrpoRun
from train.start_policy import start_policy

BOTH = pytest.mark.parametrize("kind", ["sft", "grpo"])


@pytest.fixture(scope="module")
def sft_adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The final model of a cold start with an adapter and dropout."""
    policy = start("sft", checkpoint(), {**LORA, "dropout": 0.25})
    move_adapter(policy)
    return save_adapter(policy, tmp_path_factory.mktemp("sft") / "final")


@BOTH
def test_without_the_section_all_but_the_tower_trains(kind: str) -> None:
    model, _, num_trainable = start_policy(load_run(kind, checkpoint(), None), None)
    assert not isinstance(model, AdapterPolicy)
    frozen = [name for name, weight in model.named_parameters() if not weight.requires_grad]
    assert frozen and all("visual." in n and "visual.merger" not in n for n in frozen)
    assert num_trainable == len(list(model.parameters())) - len(frozen)


@BOTH
def test_a_new_adapter(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    model, _, num_trainable = start_policy(load_run(kind, checkpoint(), LORA), None)
    assert num_trainable == 2 * (2 * 7 + 2)
    config = adapter_config(model)
    assert (config.rank, config.alpha, config.dropout) == (4, 8.0, 0.0)
    assert config.base == str(checkpoint().resolve())
    assert f"new adapter of rank 4 on {checkpoint()}" in capsys.readouterr().out
    # The run's seed decides the first weights, so that every process has the same.
    again = adapter_weights(start(kind, checkpoint()))
    other = adapter_weights(start(kind, checkpoint(), seed=6))
    weights = adapter_weights(model)
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert any(not torch.equal(weights[name], other[name]) for name in weights)


@BOTH
def test_an_adapter_is_trained_on(
    kind: str, sft_adapter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = start(kind, sft_adapter)
    expected = start("sft", checkpoint(), LORA)
    move_adapter(expected)
    found, wanted = adapter_weights(policy), adapter_weights(expected)
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)
    trains = {name for name, weight in policy.named_parameters() if weight.requires_grad}
    assert len(trains) == 32 and all(".default." in name for name in trains)
    # Its base is the model under it, so what is saved now needs the cold start's folder no more.
    assert adapter_config(policy).base == str(checkpoint().resolve())
    shown = capsys.readouterr().out
    assert f"training on the adapter of {sft_adapter}, of rank 4 on {checkpoint()}" in shown
    # The section's dropout holds, not the one that the cold start had.
    assert "dropout of the adapter is 0.0 from now on; it was 0.25" in shown
    assert adapter_config(policy).dropout == 0.0
    dropouts = [part for part in policy.modules() if isinstance(part, torch.nn.Dropout)]
    assert not any(part.p == 0.25 for part in dropouts)


@BOTH
@pytest.mark.parametrize(
    ("lora", "message"),
    [
        ({"rank": 8}, "lora.rank is 8, but the adapter of model.path .* has 4; use that"),
        ({"alpha": 4.0}, r"lora.alpha is 4\.0, but .* has 8\.0"),
        ({"target": r".*\.q_proj"}, r"lora.target is \.\*\\\.q_proj, but .* has \(\.\*"),
    ],
    ids=["rank", "alpha", "target"],
)
def test_another_section_than_the_adapters(
    kind: str, sft_adapter: Path, lora: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        start(kind, sft_adapter, {**LORA, **lora})


@BOTH
def test_the_same_modules_in_other_words(kind: str, sft_adapter: Path) -> None:
    target = r"model\.(language_model\.layers\.(0|1)\..*_proj|visual\.merger\.mlp\.(0|2))"
    start(kind, sft_adapter, {**LORA, "target": target})


@BOTH
def test_an_adapter_without_the_section(kind: str, sft_adapter: Path) -> None:
    """All weights would train, against the bare base as reference."""
    with pytest.raises(ValueError, match=r"model\.path .* is an adapter; train it on with a lora"):
        start(kind, sft_adapter, None)


@BOTH
def test_a_base_that_moved(kind: str, sft_adapter: Path, tmp_path: Path) -> None:
    config = sft_adapter / "adapter_config.json"
    text = config.read_text()
    config.write_text(text.replace(str(checkpoint().resolve()), "/nowhere/base"))
    try:
        with pytest.raises(ValueError, match=r"not at /nowhere/base; say where it is with model\."):
            start(kind, sft_adapter)
        policy = start(kind, sft_adapter, **{"model.base": str(checkpoint())})
    finally:
        config.write_text(text)
    assert adapter_config(policy).base == str(checkpoint().resolve())


# --- the section itself ---------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("lora", "message"),
    [
        ({"target": "all-linear"}, "lora.target.*all-linear reaches the vision tower"),
        ({"target": "("}, r"lora.target.*\( is no regular expression"),
        ({"rank": 0}, "lora.rank"),
        ({"alpha": 0}, "lora.alpha"),
        ({"dropout": 1}, "lora.dropout"),
        ({"dropuot": 0.1}, 'unknown key "lora.dropuot"; did you mean "lora.dropout"'),
    ],
    ids=str,
)
def test_what_the_section_refuses(kind: str, lora: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_run(kind, Path("base"), lora)


def test_grpo_refuses_dropout() -> None:
    """With it old, reference and policy log-probs of the same weights would differ."""
    with pytest.raises(ValueError, match=r"lora\.dropout is 0\.1; it must be 0 in GRPO"):
        load_run("grpo", Path("base"), {"dropout": 0.1})
    assert load_run("sft", Path("base"), {"dropout": 0.1}).lora.dropout == 0.1


@BOTH
def test_a_target_that_reaches_the_tower_stops_the_start(kind: str) -> None:
    with pytest.raises(ValueError, match=r"target \.\*\\\.qkv reaches model\.visual\.blocks\.0"):
        start(kind, checkpoint(), {**LORA, "target": r".*\.qkv"})


@BOTH
def test_single_keys_on_the_command_line(kind: str) -> None:
    """`--lora.rank 8` alone switches adapters on; the rest is the default."""
    run = load_run(kind, Path("base"), None, **{"lora.rank": 8})
    assert (run.lora.rank, run.lora.alpha, run.lora.dropout) == (8, 32.0, 0.0)
    assert isinstance(run, GrpoRun) == (kind == "grpo")
