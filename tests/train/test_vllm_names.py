"""Names of an engine's weights in a checkpoint, and the check that a sync covers each once."""

import pytest

from tests.tiny import plain_model
from train.vllm_names import check_exact_cover, checkpoint_names, trained_name

# As vLLM 0.32 names the parameters of a Qwen2.5-VL with one layer of each kind and a tied head.
LAYER = "language_model.model.layers.0"
BLOCK = "visual.blocks.0"
ENGINE = [
    "visual.patch_embed.proj.weight",
    *(f"{BLOCK}.norm1.weight", f"{BLOCK}.norm2.weight"),
    *(f"{BLOCK}.attn.qkv.weight", f"{BLOCK}.attn.qkv.bias"),
    *(f"{BLOCK}.attn.proj.weight", f"{BLOCK}.attn.proj.bias"),
    *(f"{BLOCK}.mlp.gate_up_proj.weight", f"{BLOCK}.mlp.gate_up_proj.bias"),
    *(f"{BLOCK}.mlp.down_proj.weight", f"{BLOCK}.mlp.down_proj.bias"),
    "visual.merger.ln_q.weight",
    *("visual.merger.mlp.0.weight", "visual.merger.mlp.0.bias"),
    *("visual.merger.mlp.2.weight", "visual.merger.mlp.2.bias"),
    "language_model.model.embed_tokens.weight",
    *(f"{LAYER}.self_attn.qkv_proj.weight", f"{LAYER}.self_attn.qkv_proj.bias"),
    f"{LAYER}.self_attn.o_proj.weight",
    *(f"{LAYER}.mlp.gate_up_proj.weight", f"{LAYER}.mlp.down_proj.weight"),
    *(f"{LAYER}.input_layernorm.weight", f"{LAYER}.post_attention_layernorm.weight"),
    "language_model.model.norm.weight",
]


def test_an_engines_weights_are_those_of_the_model_that_trains() -> None:
    model = plain_model(num_layers=1, tower_depth=1)
    ours = [name for name, _ in model.named_parameters()]
    assert sorted(checkpoint_names(ENGINE)) == sorted(ours)
    check_exact_cover(checkpoint_names(ENGINE), ours)


def test_packed_layers_are_taken_apart() -> None:
    assert checkpoint_names([f"{LAYER}.self_attn.qkv_proj.bias"]) == [
        "model.language_model.layers.0.self_attn.q_proj.bias",
        "model.language_model.layers.0.self_attn.k_proj.bias",
        "model.language_model.layers.0.self_attn.v_proj.bias",
    ]
    # The tower's is one layer in the checkpoint, too.
    assert checkpoint_names(["visual.blocks.3.attn.qkv.weight"]) == [
        "model.visual.blocks.3.attn.qkv.weight"
    ]


def test_an_output_layer_of_its_own_is_asked_for() -> None:
    assert checkpoint_names(["language_model.lm_head.weight"]) == ["lm_head.weight"]


def test_another_architecture_is_told() -> None:
    with pytest.raises(ValueError, match=r"transformer\.h\.0\.weight has no known place"):
        checkpoint_names(["transformer.h.0.weight"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model.visual.merger.mlp.0.weight", "model.visual.merger.mlp.0.weight"),
        ("base_model.model.model.norm.weight", "model.norm.weight"),
        (
            "base_model.model.model.visual.merger.mlp.0.base_layer.weight",
            "model.visual.merger.mlp.0.weight",
        ),
    ],
)
def test_names_inside_peft_are_the_bases(name: str, expected: str) -> None:
    assert trained_name(name) == expected


def test_a_cover_that_is_not_exact_names_each_fault() -> None:
    check_exact_cover(["a", "b"], ["b", "a"])
    with pytest.raises(ValueError) as refused:
        check_exact_cover(["a", "b", "c"], ["a", "a", "d"])
    for told in ("3 exactly", "2 missing (b, c)", "1 unknown to the engine (d)", "than once (a)"):
        assert told in str(refused.value)


def test_a_long_list_is_cut() -> None:
    with pytest.raises(ValueError, match=r"9 missing \(n0, n1, n2, n3, n4, \.\.\.\)"):
        check_exact_cover([f"n{index}" for index in range(9)], [])
