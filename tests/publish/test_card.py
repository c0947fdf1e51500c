"""The card claims what files say and nothing else, and shows whatever they say as text."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.markdown import Markdown

from affect.model import encode_prompt, generate, load_policy, segment_messages
from affect.run_folder import RunFolder
from affect.taxonomy import DAR_EMOTIONS
from affect.video import sample_video
from data_prep.rendered.encoding import write_clip
from publish.card import render_card
from publish.record import CheckRecord, ExportOptions, ExportRecord
from publish.score_files import read_scores
from publish.source import find_source
from tests.publish.runs import (
    BUDGET,
    asked_of,
    export,
    finish_run,
    make_run,
    save_base,
    score_row,
    write_scores,
)
from tests.tiny import synthetic_clip

HUB_BASE = "Qwen/Qwen2.5-VL-3B-Instruct"
SHA = "a" * 64


def record(**changes: Any) -> ExportRecord:
    fields: dict[str, Any] = {
        "run": "sft",
        "step": None,
        "source_sha256": SHA,
        "sha256": SHA,
        "options": ExportOptions(),
        "dtype": "bfloat16",
        "base": HUB_BASE,
        "base_names_compared": True,
        "adapter": None,
        "num_tensors": 56,
        "num_parameters": 1_234_567,
        "check": CheckRecord(
            num_prompt_tokens=99,
            num_positions=64,
            largest_logit=17.5,
            load_back_difference=0.0,
            rounding_difference=None,
        ),
        "rendered_prompt": "<|im_start|>user\nSay.<|im_end|>\n",
        "versions": {"transformers": "5.19.0"},
        "exported_at": "2026-11-30T00:00:00+00:00",
    }
    return ExportRecord(**{**fields, **changes})


def bare_run(folder: Path, base: str = HUB_BASE, **details: Any) -> RunFolder:
    """A run whose weights nobody looks at."""
    run = RunFolder(folder)
    run.final.mkdir(parents=True)
    finish_run(run, base, **details)
    return run


def card(run: RunFolder, *, license_keys: dict[str, str] | None = None, **changes: Any) -> str:
    scores = read_scores(run, {SHA})
    return render_card(find_source(run.path), record(**changes), scores, license_keys=license_keys)


def header(text: str) -> Any:
    return yaml.safe_load(text.split("---\n")[1])


def test_the_header_says_what_it_is(tmp_path: Path) -> None:
    sft = bare_run(tmp_path / "sft")
    grpo = bare_run(tmp_path / "grpo", str(sft.final), config={"reward": {"preset": "hardened"}})
    assert header(card(grpo)) == {
        "license": "other",
        "library_name": "transformers",
        "pipeline_tag": "video-text-to-text",
        "tags": ["qwen2_5_vl", "video", "emotion", "temporal-segmentation", "sft", "grpo"],
        "base_model": HUB_BASE,
        "base_model_relation": "finetune",
    }


def test_a_folder_is_no_base_that_a_hub_knows(tmp_path: Path) -> None:
    base = save_base(tmp_path / "secret" / "place" / "of" / "base")
    text = card(bare_run(tmp_path / "sft", str(base)))
    assert "base_model" not in header(text)
    assert "1. from `.../of/base`\n" in text
    assert str(tmp_path) not in text


def test_a_licence_is_named(tmp_path: Path) -> None:
    keys = {"license": "other", "license_name": "qwen-research", "license_link": "LICENSE: 1"}
    found = header(card(bare_run(tmp_path / "sft"), license_keys=keys))
    assert keys.items() <= found.items()


def test_without_scores_every_figure_is_not_computed(tmp_path: Path) -> None:
    text = card(bare_run(tmp_path / "sft"))
    scores = text.split("## Scores")[1]
    rows = [line for line in scores.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == 14
    assert all(line.endswith("| not computed | not computed |") for line in rows)
    assert not re.search(r"\d+\.\d", scores)
    assert "The run has no scores of this model." in scores


def test_figures_with_intervals_and_counts(tmp_path: Path) -> None:
    run = bare_run(tmp_path / "sft")
    rows = [
        score_row("strict", "miou_segment", 0.61, low=0.55, high=0.674),
        score_row("strict", "sc_acc", 0.0, low=0.0, high=0.0),
        score_row("strict", "emo_acc_at_0.7", 0.25, low=None, high=None),
        score_row("released", "emo_acc", None, num_scored=0),
        score_row("mine", "new_metric", 1.0, low=1.0, high=1.0),
    ]
    write_scores(
        run,
        "test",
        rows,
        {
            "model": "final",
            "model_sha256": SHA,
            "dtype": "float32",
            "rows": str(tmp_path / "someone" / "test.jsonl"),
            "seed": 0,
        },
    )
    text = card(run)
    lines = text.split("### test\n")[1].splitlines()
    assert "| strict | `miou_segment` | 61.0 [55.0, 67.4] | 90 / 7 / 3 |" in lines
    assert "| strict | `sc_acc` | 0.0 [0.0, 0.0] | 90 / 7 / 3 |" in lines
    assert "| strict | `emo_acc_at_0.7` | 25.0 [interval not computed] | 90 / 7 / 3 |" in lines
    assert "| strict | `valid_json` | not computed | not computed |" in lines
    assert "| released | `emo_acc` | not computed | 0 / 7 / 3 |" in lines
    assert "| mine | `new_metric` | 100.0 [100.0, 100.0] | 90 / 7 / 3 |" in lines
    # A protocol's lines stand together.
    protocols = [line.split(" | ")[0] for line in lines if line.startswith("| ")][2:]
    assert protocols == sorted(protocols, key=["| strict", "| paper", "| released", "| mine"].index)
    assert "`rows` `test.jsonl`, `seed` `0`, `dtype` `float32`." in text
    assert "They were given in float32; the weights here are bfloat16." in text
    assert "someone" not in text


def test_scores_of_another_model_are_named_and_not_shown(tmp_path: Path) -> None:
    run = bare_run(tmp_path / "sft")
    write_scores(run, "step_5", [score_row("strict", "sc_acc", 0.87654)], {"model_sha256": "b"})
    text = card(run)
    assert "Not shown: `scores/step_5.json`, other weights gave the answers." in text
    assert "87.7" not in text and "The run has no scores of this model." in text


def test_what_it_was_shown_and_how_it_was_trained(tmp_path: Path) -> None:
    sft = bare_run(tmp_path / "cold")
    trainer = {"learning_rate": 2e-6, "max_steps": 70}
    run = bare_run(tmp_path / "grpo", str(sft.final), config={"reward": {}, "trainer": trainer})
    text = card(run)
    budget = json.loads(run.budget.read_text())
    assert f"| `prompt_hash` | `{budget['prompt_hash']}` |" in text
    assert "| `max_frames` | `8` |" in text and "| `max_completion_tokens` | `40` |" in text
    assert "```text\n<|im_start|>user\nSay.<|im_end|>\n```" in text
    assert f"1. from `{HUB_BASE}`\n2. SFT: run cold, 7 steps\n3. GRPO: run grpo, 7 steps\n" in text
    assert "learning_rate: 2.0e-06" in text and "`0123abcd`" in text
    assert "1,234,567 parameters in bfloat16." in text
    run.environment.unlink()
    assert "Code revision of the last run: not recorded." in card(run)


def test_rounding_and_merging_are_told(tmp_path: Path) -> None:
    run = bare_run(tmp_path / "sft")
    assert "LoRA" not in card(run) and "rounding had" not in card(run)
    check = record().check.model_copy(update={"rounding_difference": 0.125})
    text = card(run, adapter={"rank": 16, "alpha": 32.0}, check=check, base_names_compared=False)
    assert "A LoRA adapter of rank 16 was merged in." in text
    assert "Merging and rounding had moved them by at most 0.125." in text
    assert "their names were not compared" in text


def test_rows_that_brought_their_own_prompt(tmp_path: Path) -> None:
    text = card(bare_run(tmp_path / "sft", prompt="row"))
    assert "Each row of its training brought its own text" in text
    assert "segment_messages(video" not in text and "Say.<|im_end|>" not in text
    assert "| `prompt_hash` | `not recorded` |" in text


HOSTILE = "x`|<img src=x onerror=alert(1)>](http://evil) # ---\nlicense: mit"


def test_names_and_settings_stay_text(tmp_path: Path) -> None:
    folder = tmp_path / "a|b <script>`*_[x](y)"
    trainer = {"note": "```\n# heading\n<b>", "key": HOSTILE}
    run = bare_run(folder, config={"trainer": trainer})
    asked = {"model_sha256": SHA, "rows": HOSTILE, "temperature": HOSTILE}
    write_scores(run, "<b>|n", [score_row(HOSTILE, HOSTILE, 0.5)], asked)
    text = card(run)
    found = header(text)
    assert found["license"] == "other"
    tokens = [
        token
        for parsed in Markdown(text.split("---\n", 2)[2]).parsed
        for token in [parsed, *(parsed.children or [])]
    ]
    kinds = {token.type for token in tokens}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "s_open", "em_open"}
    headings = [
        tokens[index + 1].content for index, t in enumerate(tokens) if t.type == "heading_open"
    ]
    assert [re.sub(r"\W", "", heading) for heading in headings] == [
        *("abltscriptgt_xy", "Use", "Whatitwasshown", "Howitwastrained", "Whatitisnot", "Scores"),
        "ltbgtn",
    ]
    spans = {token.content for token in tokens if token.type == "code_inline"}
    assert HOSTILE.replace("\n", " ") in spans  # whole, and once
    [settings] = [t.content for t in tokens if t.type == "fence" and t.info == "yaml"]
    assert yaml.safe_load(settings)["trainer"]["note"] == trainer["note"]


def test_an_edited_card_stays(tmp_path: Path) -> None:
    run = make_run(tmp_path / "sft", save_base(tmp_path / "base"))
    out = tmp_path / "out"
    export(run, out)
    assert "not computed" in (out / "README.md").read_text()
    write_scores(run, "test", [score_row("strict", "sc_acc", 0.75)], asked_of(run))
    said: list[str] = []
    export(run, out, say=said.append)
    assert said[1:] == [f"{out / 'README.md'} was brought up to date"]
    assert "| `sc_acc` | 75.0 [62.5, 87.5] |" in (out / "README.md").read_text()
    (out / "README.md").write_text("my own words")
    said.clear()
    export(run, out, say=said.append)
    assert said[1:] == [f"{out / 'README.md'} was edited and is left as it is"]
    assert (out / "README.md").read_text() == "my own words"


def test_the_usage_of_the_card_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "sft", save_base(tmp_path / "base"))
    out = tmp_path / "out"
    export(run, out)
    frames = synthetic_clip(seed=2, num_frames=10).frames
    write_clip(out / "clip.mp4", frames, 5)
    [usage] = re.findall(r"```python\n(.*?)```", (out / "README.md").read_text(), re.DOTALL)
    (tmp_path / "usage.py").write_text(usage)
    monkeypatch.chdir(out)
    capsys.readouterr()
    runpy.run_path(str(tmp_path / "usage.py"))
    printed = capsys.readouterr().out

    model, processor = load_policy(run.final)
    clip = sample_video(out / "clip.mp4", BUDGET)
    prompt = encode_prompt(processor, segment_messages(2.0), [clip])
    [[reply]] = generate(model, processor, [prompt], max_new_tokens=40)
    assert printed == f"{reply.text}\n" and len(reply.token_ids) > 0


def test_the_prompt_of_the_card_is_the_training_s(tmp_path: Path) -> None:
    run = make_run(tmp_path / "sft", save_base(tmp_path / "base"))
    export(run, tmp_path / "out")
    _, processor = load_policy(run.final)
    text = processor.apply_chat_template(
        segment_messages(4.0), tokenize=False, add_generation_prompt=True
    )
    assert all(emotion in text for emotion in DAR_EMOTIONS)
    assert f"```text\n{text.rstrip()}\n```" in (tmp_path / "out" / "README.md").read_text()
