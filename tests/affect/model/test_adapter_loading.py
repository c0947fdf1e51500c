"""An adapter folder loads with its base, or says what is wrong with it and what to pass."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from affect.adapter_config import ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE
from affect.model.adapter import adapter_config
from affect.model.loading import load_policy
from tests.tiny import shared_processor, tiny_policy
from tests.tiny_adapter import adapter_weights, save_adapter, save_base, trained_adapter

FIRST = "base_model.model.model.language_model.layers.0.mlp.down_proj.lora_A.weight"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """base/ and adapter/, as a run leaves them."""
    folder = tmp_path_factory.mktemp("home")
    save_adapter(trained_adapter(save_base(folder / "base")), folder / "adapter")
    return folder


@pytest.fixture
def spoilt(home: Path, tmp_path: Path) -> Path:
    """A copy of the adapter that a test may damage."""
    return Path(shutil.copytree(home / "adapter", tmp_path / "spoilt"))


def rewrite_config(folder: Path, **changes: Any) -> None:
    path = folder / ADAPTER_CONFIG_FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def rewrite_weights(folder: Path, changes: dict[str, torch.Tensor | None]) -> None:
    path = folder / ADAPTER_WEIGHTS_FILE
    weights = {**load_file(path), **changes}
    save_file({name: weight for name, weight in weights.items() if weight is not None}, path)


def test_a_base_that_moved(home: Path, spoilt: Path, tmp_path: Path) -> None:
    rewrite_config(spoilt, base_model_name_or_path="/nowhere/base")
    with pytest.raises(
        ValueError,
        match=r"spoilt: its base model is not at /nowhere/base; say where it is with model\.base "
        r"in a training configuration, --base in evaluation\.predict, or base= in load_policy",
    ):
        load_policy(spoilt)
    loaded, _ = load_policy(spoilt, base=home / "base")
    expected = adapter_weights(trained_adapter(home / "base"))
    found = adapter_weights(loaded)
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    # What is saved from now on names the place where the base was found.
    assert adapter_config(loaded).base == str((home / "base").resolve())


def test_a_base_named_relatively_is_recorded_absolutely(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    policy = trained_adapter(Path("base"))
    assert adapter_config(policy).base == str((home / "base").resolve())


def test_a_base_on_a_hub_is_recorded_by_its_id(tmp_path: Path) -> None:
    policy = trained_adapter(Path("owner/name"))
    policy.save_pretrained(tmp_path)  # no network is asked about embeddings
    config = json.loads((tmp_path / ADAPTER_CONFIG_FILE).read_text())
    assert config["base_model_name_or_path"] == "owner/name"


def test_a_base_for_a_whole_model(home: Path) -> None:
    with pytest.raises(ValueError, match="is a whole model; a base is passed with an adapter only"):
        load_policy(home / "base", base=home / "base")


def test_an_adapter_on_an_adapter(home: Path, spoilt: Path) -> None:
    rewrite_config(spoilt, base_model_name_or_path=str(home / "adapter"))
    with pytest.raises(ValueError, match=r"its base model .*adapter is an adapter itself"):
        load_policy(spoilt)


def test_a_whole_model_beside_the_adapter(home: Path, spoilt: Path) -> None:
    shutil.copy(home / "base" / "model.safetensors", spoilt)
    with pytest.raises(ValueError, match="holds a whole model and an adapter"):
        load_policy(spoilt)


def test_a_base_of_another_size(spoilt: Path, tmp_path: Path) -> None:
    model, _ = tiny_policy(3, hidden_size=128)
    model.save_pretrained(tmp_path / "wide")
    shared_processor().save_pretrained(tmp_path / "wide")
    with pytest.raises(ValueError, match=r"is \(64, 4\), \(128, 4\) is needed; .* another base"):
        load_policy(spoilt, base=tmp_path / "wide")


# --- weights --------------------------------------------------------------------------------------


class Bomb:
    """What a pickle can do to the one who opens it."""

    def __reduce__(self) -> Any:
        return (sys.exit, ("opened",))


def test_a_pickle_is_never_opened(spoilt: Path) -> None:
    torch.save({FIRST: Bomb()}, spoilt / "adapter_model.bin")
    load_policy(spoilt)  # the safetensors beside it count
    (spoilt / ADAPTER_WEIGHTS_FILE).unlink()
    with pytest.raises(
        ValueError, match=r"holds no adapter_model\.safetensors; adapter_model\.bin is a pickle"
    ):
        load_policy(spoilt)
    (spoilt / ADAPTER_CONFIG_FILE).unlink()
    with pytest.raises(ValueError, match=r"holds no adapter_config\.json"):
        load_policy(spoilt)


def test_weights_that_are_cut_off(spoilt: Path) -> None:
    path = spoilt / ADAPTER_WEIGHTS_FILE
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"adapter_model\.safetensors: can't be read"):
        load_policy(spoilt)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({FIRST: None}, r"1 adapter weights are missing, .*layers\.0\.mlp\.down_proj\.lora_A"),
        (
            {"base_model.model.lm_head.lora_A.weight": torch.ones(4, 64)},
            r"of no target module, .*lm",
        ),
        ({FIRST: torch.ones(5, 192)}, r"lora_A\.weight is \(5, 192\), but r is 4"),
        ({FIRST: torch.ones(4, 64)}, r"is \(4, 64\), \(4, 192\) is needed"),
        ({FIRST: torch.ones(())}, r"is \(\), but r is 4"),
        ({FIRST: torch.full((4, 192), torch.nan)}, r"down_proj\.lora_A\.weight holds numbers"),
    ],
    ids=["missing", "unknown", "rank", "shape", "scalar", "nan"],
)
def test_weights_that_do_not_fit(
    spoilt: Path, changes: dict[str, torch.Tensor | None], message: str
) -> None:
    rewrite_weights(spoilt, changes)
    with pytest.raises(ValueError, match=f"spoilt: .*{message}"):
        load_policy(spoilt)


# --- configuration --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"use_dora": True}, "use_dora is True"),
        ({"peft_type": "IA3"}, "only LORA adapters"),
        ({"r": 5}, r"lora_A\.weight is \(4, \d+\), but r is 5"),
        ({"r": 10**12}, "but r is 1000000000000"),
        ({"target_modules": r".*\.qkv"}, r"reaches model\.visual\.blocks\.0\.attn\.qkv"),
        ({"target_modules": ["gate_proj"]}, r"reaches model\.visual\.blocks\.0\.mlp\.gate_proj"),
        ({"target_modules": "all-linear"}, "reaches the vision tower"),
        ({"target_modules": r".*merger\.mlp\.0"}, "of no target module"),
        ({"target_modules": "nothing"}, "matches no module"),
        ({"target_modules": "("}, "is no regular expression"),
    ],
    ids=str,
)
def test_a_configuration_that_does_not_fit(
    spoilt: Path, changes: dict[str, Any], message: str
) -> None:
    rewrite_config(spoilt, **changes)
    with pytest.raises(ValueError, match=f"spoilt.*{message}"):
        load_policy(spoilt)


def test_names_as_peft_also_writes_them(home: Path, spoilt: Path) -> None:
    names = ["q_proj", "k_proj", "v_proj", "o_proj", "mlp.0", "mlp.2"]
    prefixes = ("self_attn.", "mlp.0.", "mlp.2.")
    keep = {
        name: None
        for name in load_file(spoilt / ADAPTER_WEIGHTS_FILE)
        if not any(part in name for part in prefixes)
    }
    rewrite_weights(spoilt, keep)
    rewrite_config(spoilt, target_modules=names)
    loaded, _ = load_policy(spoilt)
    assert adapter_config(loaded).targets == tuple(sorted(names))
    assert len(adapter_weights(loaded)) == (2 * 4 + 2) * 2


def test_without_a_processor(spoilt: Path) -> None:
    for name in ("processor_config.json", "tokenizer.json", "tokenizer_config.json"):
        (spoilt / name).unlink()
    with pytest.raises(ValueError, match=r"spoilt: no processor could be loaded"):
        load_policy(spoilt)


def test_without_peft(spoilt: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "affect.model.adapter", None)
    with pytest.raises(ValueError, match="an adapter needs peft"):
        load_policy(spoilt)
    load_policy(home / "base")  # a whole model does not
