"""Which checkpoint a run means, where it came from, and what is refused before any work."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from affect.run_folder import RunFolder
from publish.base_model import base_ties_head, find_base, is_model_id, license_of
from publish.source import find_source
from tests.publish.runs import finish_run

HUB_BASE = "Qwen/Qwen2.5-VL-3B-Instruct"


def bare_run(folder: Path, base: Path | str = HUB_BASE, **config: object) -> RunFolder:
    run = RunFolder(folder)
    run.final.mkdir(parents=True)
    finish_run(run, base, config=config)
    return run


def test_the_chain_of_runs_ends_at_the_base(tmp_path: Path) -> None:
    sft = bare_run(tmp_path / "sft")
    (sft.checkpoints / "checkpoint-9").mkdir(parents=True)
    for name, start in {"a": sft.final, "b": sft.checkpoints / "checkpoint-9"}.items():
        grpo = bare_run(tmp_path / name, start, reward={"preset": "paper"})
        source = find_source(grpo.path)
        assert source.base == HUB_BASE and source.name == name
        assert [(stage.kind, stage.folder.name) for stage in source.stages] == [
            ("SFT", "sft"),
            ("GRPO", name),
        ]
        assert source.checkpoint == grpo.final and not source.is_adapter
    assert find_source(grpo.path, base="other/base").base == "other/base"


def test_relative_folders_count_from_where_the_run_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sft = bare_run(tmp_path / "runs" / "sft", "runs/base", run_dir="runs/sft")
    (tmp_path / "runs" / "base").mkdir()
    grpo = bare_run(tmp_path / "runs" / "grpo", "runs/sft/final", run_dir="runs/grpo", reward={})
    for place in (tmp_path, tmp_path / "runs", Path("/")):
        monkeypatch.chdir(place)
        source = find_source(grpo.path)
        assert [stage.folder.resolve() for stage in source.stages] == [sft.path, grpo.path]
        assert Path(source.base).resolve() == tmp_path / "runs" / "base"
    moved = tmp_path / "elsewhere"
    shutil.copytree(grpo.path, moved)
    assert find_source(moved).base == "runs/sft/final"  # nothing tells where that was


def test_what_others_see_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same wherever the command was typed, so that a second export knows the first."""
    base = tmp_path / "models" / "base"
    base.mkdir(parents=True)
    run = bare_run(tmp_path / "runs" / "sft")
    for place, name in ((tmp_path, "models/base"), (base, "."), (base, str(base))):
        monkeypatch.chdir(place)
        assert find_source(run.path, base=name).shown_base == ".../models/base"
    assert find_source(run.path).shown_base == HUB_BASE
    gone = find_source(run.path, base="/some/body/s/home/base").shown_base
    assert gone == ".../home/base"


def test_an_adapter_of_no_run_names_its_base(tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    settings = {
        "peft_type": "LORA",
        "base_model_name_or_path": HUB_BASE,
        "r": 4,
        "lora_alpha": 8,
        "lora_dropout": 0.0,
        "target_modules": ["q_proj"],
    }
    (adapter / "adapter_config.json").write_text(json.dumps(settings))
    run = bare_run(tmp_path / "grpo", adapter, reward={})
    assert find_source(run.path).base == HUB_BASE
    moved = {"path": str(adapter), "base": "some/where"}
    run = bare_run(tmp_path / "moved", adapter, model=moved)
    assert find_source(run.path).base == "some/where"


def test_a_run_that_leads_back_to_itself(tmp_path: Path) -> None:
    run = bare_run(tmp_path / "run", tmp_path / "run" / "final")
    with pytest.raises(ValueError, match=r"config\.yaml: model\.path leads back"):
        find_source(run.path)


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere: there is no such folder; name the folder of a"):
        find_source(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"has no config\.yaml"):
        find_source(tmp_path)


def test_an_unfinished_run(tmp_path: Path) -> None:
    run = bare_run(tmp_path / "run")
    run.done.unlink()
    with pytest.raises(ValueError, match=r"is not finished; .* --step \(there is none\)"):
        find_source(run.path)
    for step in (5, 10):
        (run.checkpoints / f"checkpoint-{step}").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"--step \(5, 10\)"):
        find_source(run.path)
    assert find_source(run.path, step=10).checkpoint.name == "checkpoint-10"
    with pytest.raises(ValueError, match=r"checkpoint-7: .* --step may be 5, 10"):
        find_source(run.path, step=7)


def test_nobody_knows_what_it_was_shown(tmp_path: Path) -> None:
    run = bare_run(tmp_path / "run")
    run.budget.unlink()
    assert find_source(run.path).budget.max_completion_tokens == 40  # the checkpoint's own
    (run.final / "budget.json").unlink()
    with pytest.raises(ValueError, match=r"has no budget\.json"):
        find_source(run.path)


def test_a_prompt_that_reads_differently_now(tmp_path: Path) -> None:
    run = bare_run(tmp_path / "run")
    budget = json.loads(run.budget.read_text())
    run.budget.write_text(json.dumps({**budget, "prompt_hash": "0" * 64}))
    with pytest.raises(
        ValueError, match=r"another text of the prompt 'segment' .*environment\.json"
    ):
        find_source(run.path)
    run.budget.write_text(json.dumps({**budget, "prompt": "row", "prompt_hash": None}))
    assert find_source(run.path).budget.prompt == "row"


@pytest.mark.parametrize("model", [None, {}, {"path": ""}, {"path": 3}, "x"], ids=str)
def test_a_configuration_without_a_model(tmp_path: Path, model: object) -> None:
    run = bare_run(tmp_path / "run")
    run.config.write_text(yaml.safe_dump({"model": model}))
    with pytest.raises(ValueError, match=r"config\.yaml: model\.path must name the model"):
        find_source(run.path)


# --- the base on this machine -----------------------------------------------------------------


def test_model_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    assert is_model_id(HUB_BASE)
    for name in ("base", "runs/base", "./a/b", "/a/b", "a/b/c", "../a", "a b/c", ""):
        assert not is_model_id(name), name


def test_a_base_is_looked_for_here_only(tmp_path: Path) -> None:
    assert find_base(str(tmp_path)) == tmp_path
    assert find_base(str(tmp_path / "nowhere")) is None
    assert find_base("nobody-has-this/model-here") is None


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"tie_word_embeddings": True}, True),
        ({"tie_word_embeddings": False, "text_config": {"tie_word_embeddings": True}}, False),
        ({"text_config": {"tie_word_embeddings": True}}, True),
        ({"text_config": None}, None),
        ({}, None),
    ],
    ids=str,
)
def test_whether_the_base_ties_its_head(
    tmp_path: Path, config: object, expected: bool | None
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert base_ties_head(tmp_path) is expected


@pytest.mark.parametrize("text", ["[]", "{", ""])
def test_a_base_with_a_broken_configuration(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=r"config\.json: not"):
        base_ties_head(tmp_path)


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ("---\nlicense: other\nlicense_name: q\nlicense_link: l\ntags: [a]\n---\n# A\n",
         {"license": "other", "license_name": "q", "license_link": "l"}),
        ("---\r\nlicense: mit\r\n---\r\n", {"license": "mit"}),
        ("---\nlicense: [mit, x]\n---\n", {}),
        ("---\nlicense_name: q\n---\n", {}),
        ("---\n: [\n---\n", {}),
        ("---\nlicense: !!python/object/apply:os.getcwd []\n---\n", {}),
        ("# no header\nlicense: mit\n", {}),
        ("text\n---\nlicense: mit\n---\n", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_the_licence_of_the_base(tmp_path: Path, card: str, expected: object) -> None:
    (tmp_path / "README.md").write_text(card, newline="")
    assert license_of(tmp_path) == expected


def test_no_card_no_licence(tmp_path: Path) -> None:
    assert license_of(None) == license_of(tmp_path) == {}
