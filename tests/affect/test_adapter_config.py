"""adapter_config.json: plain LoRA is read, anything more is refused by its key."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.adapter_config import (
    ADAPTER_CONFIG_FILE,
    DEFAULT_TARGETS,
    AdapterConfig,
    is_adapter,
    read_adapter_config,
)

PLAIN: dict[str, Any] = {
    "peft_type": "LORA",
    "base_model_name_or_path": "/models/base",
    "r": 8,
    "lora_alpha": 16,
    "lora_dropout": 0.05,
    "target_modules": DEFAULT_TARGETS,
    "bias": "none",
    "init_lora_weights": True,
    "inference_mode": True,
    "task_type": "CAUSAL_LM",
    "rank_pattern": {},
    "modules_to_save": None,
    "use_dora": False,
    "megatron_core": "megatron.core",
    "qalora_group_size": 16,
}


def written(folder: Path, **changes: Any) -> Path:
    (folder / ADAPTER_CONFIG_FILE).write_text(json.dumps({**PLAIN, **changes}))
    return folder


def test_plain_lora(tmp_path: Path) -> None:
    found = read_adapter_config(written(tmp_path))
    assert found == AdapterConfig("/models/base", 8, 16.0, 0.05, DEFAULT_TARGETS)
    named = read_adapter_config(written(tmp_path, target_modules=["v_proj", "q_proj"]))
    assert named.targets == ("q_proj", "v_proj")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("use_dora", True),
        ("use_rslora", True),
        ("modules_to_save", ["lm_head"]),
        ("rank_pattern", {"q_proj": 4}),
        ("target_parameters", ["mlp.weight"]),
        ("trainable_token_indices", [1]),
        ("layer_replication", [[0, 2]]),
        ("megatron_config", {"tensor_model_parallel_size": 2}),
        ("init_lora_weights", "pissa"),
        ("bias", "all"),
        ("something_of_tomorrow", 1),
    ],
)
def test_more_than_plain_lora_is_refused_by_name(tmp_path: Path, key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"adapter_config\.json: {key} is .* does not load"):
        read_adapter_config(written(tmp_path, **{key: value}))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("peft_type", "IA3", "peft_type is 'IA3'; only LORA"),
        ("peft_type", None, "peft_type is None"),
        ("base_model_name_or_path", None, "does not name the base model"),
        ("base_model_name_or_path", "", "does not name the base model"),
        ("r", 0, "r is 0"),
        ("r", True, "r is True"),
        ("r", 1.5, r"r is 1\.5"),
        ("lora_alpha", "16", "lora_alpha is '16'"),
        ("lora_alpha", float("nan"), "lora_alpha is nan"),
        ("lora_alpha", float("inf"), "lora_alpha is inf"),
        ("lora_alpha", 10**400, "lora_alpha is 1000"),
        ("lora_alpha", -1, "lora_alpha is -1"),
        ("lora_dropout", 1.0, r"lora_dropout is 1\.0"),
        ("lora_dropout", None, "lora_dropout is None"),
        ("target_modules", None, "target_modules is None"),
        ("target_modules", [], r"target_modules is \[\]"),
        ("target_modules", [3], r"target_modules is \[3\]"),
        ("target_modules", "", "target_modules is ''"),
    ],
)
def test_a_value_that_can_not_be(tmp_path: Path, key: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_adapter_config(written(tmp_path, **{key: value}))


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", "[" * 100_000, '"LORA"', "{'r': 1}"], ids=repr
)
def test_a_file_that_is_no_object(tmp_path: Path, content: str) -> None:
    (tmp_path / ADAPTER_CONFIG_FILE).write_text(content)
    with pytest.raises(ValueError, match=r"adapter_config\.json: (not|peft_type)"):
        read_adapter_config(tmp_path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / ADAPTER_CONFIG_FILE).write_bytes(b"\xff\xfe{}")
    with pytest.raises(ValueError, match="not JSON"):
        read_adapter_config(tmp_path)


@given(
    content=st.dictionaries(
        st.sampled_from(sorted(PLAIN)),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
            max_leaves=4,
        ),
    )
)
def test_any_object_is_read_or_refused(
    content: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("adapter")
    written(folder, **content)
    try:
        found = read_adapter_config(folder)
    except ValueError as error:
        assert str(folder) in str(error)
    else:
        assert found.rank >= 1 and 0 <= found.dropout < 1 and found.targets and found.base


def test_what_is_an_adapter(tmp_path: Path) -> None:
    assert not is_adapter(tmp_path) and not is_adapter(tmp_path / "absent")
    with pytest.raises(ValueError, match=r"holds no adapter_config\.json"):
        read_adapter_config(tmp_path)
    (tmp_path / "adapter_model.bin").touch()
    assert is_adapter(tmp_path)  # to be refused as one, not taken for a model without weights
