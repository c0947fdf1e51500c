"""The model card: README.md with a header for the hub, filled from files and from nothing else.

A figure that no score file holds is "not computed". Whatever comes from a file or a folder's name
is shown as text, never as markup.

Example: `render_card(source, record, read_scores(source.run, {record.source_sha256}))`
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from affect.trained_budget import ROW_PROMPT
from publish.base_model import is_model_id
from publish.card_scores import scores_section
from publish.markup import block, code, plain, table
from publish.record import ExportRecord
from publish.score_files import ScoreFile
from publish.source import Source, Stage, last_names

NOT_RECORDED = "not recorded"

USAGE = """\
from pathlib import Path

from affect.model import encode_prompt, generate, load_policy, segment_messages
from affect.trained_budget import read_budget
from affect.video import sample_video

folder = Path(".")  # this folder
budget = read_budget(folder / "budget.json")
model, processor = load_policy(folder, dtype="{dtype}")
video = sample_video("clip.mp4", budget.video)
{messages}
prompt = encode_prompt(processor, messages, [video])
[[reply]] = generate(model, processor, [prompt], max_new_tokens={max_new_tokens})
print(reply.text)
"""
_PROJECT_MESSAGES = "messages = segment_messages(video.duration_seconds)"
_ROW_MESSAGES = """\
text = "..."  # as in the rows that it was trained on, each of which brought its own
messages = [{"role": "user", "content": [{"type": "video"}, {"type": "text", "text": text}]}]"""
_LONGEST_REPLY_TOKENS = 2400  # where the run does not say

_IS_NOT = """\
- It says which emotion an annotator imagined in a viewer of such a clip. It does not know what any
  person felt, and must not be used to judge people.
- It was shown silent clips under the frame budget above, one at a time. Sound, other frame rates,
  longer clips and other prompts are outside of what it was trained on.
- Its reasons are sentences that it learned to write, not the causes of its answers.
- The scores below, if any, are of the rows named beside them and of nothing else."""


def render_card(
    source: Source,
    record: ExportRecord,
    scores: Sequence[ScoreFile],
    *,
    license_keys: Mapping[str, str] | None = None,
) -> str:
    """The whole text of README.md.

    Args:
        license_keys: `license` and, beside it, `license_name` and `license_link`; "other" without.
    """
    parts = [
        _header(source, license_keys or {"license": "other"}),
        f"# {plain(source.name)}",
        _summary(source, record),
        "## Use",
        _use(source, record),
        "## What it was shown",
        _shown(source, record),
        "## How it was trained",
        _trained(source, record),
        "## What it is not",
        _IS_NOT,
        "## Scores",
        scores_section(scores, record.dtype),
    ]
    return "\n\n".join(parts) + "\n"


def _header(source: Source, license_keys: Mapping[str, str]) -> str:
    kinds = [stage.kind.lower() for stage in source.stages]
    header: dict[str, Any] = {
        **license_keys,
        "library_name": "transformers",
        "pipeline_tag": "video-text-to-text",
        "tags": ["qwen2_5_vl", "video", "emotion", "temporal-segmentation", *dict.fromkeys(kinds)],
    }
    if is_model_id(source.base):  # a folder of some machine is no model that the hub could link to
        header = {**header, "base_model": source.base, "base_model_relation": "finetune"}
    return f"---\n{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---"


def _summary(source: Source, record: ExportRecord) -> str:
    adapter = record.adapter
    merged = (
        "" if adapter is None else f" A LoRA adapter of rank {adapter['rank']:g} was merged in."
    )
    compared = (
        "Its tensors have the base model's names."
        if record.base_names_compared
        else "The base model was not at hand when it was written, so their names were not compared."
    )
    return (
        "A Qwen2.5-VL that is shown a short silent video and answers as JSON when the emotion of a "
        "viewer changes, which of 27 emotions it is, and why.\n\n"
        f"{record.num_parameters:,} parameters in {record.dtype}.{merged} {compared} Loaded back "
        f"after it was written, its logits on a prompt with a video differed by at most "
        f"{record.check.load_back_difference:.3g} from those before "
        f"(the largest is {record.check.largest_logit:.3g})." + _rounding(record)
    )


def _rounding(record: ExportRecord) -> str:
    difference = record.check.rounding_difference
    if difference is None:
        return ""
    return f" Merging and rounding had moved them by at most {difference:.3g}."


def _use(source: Source, record: ExportRecord) -> str:
    own_prompt = source.budget.prompt == ROW_PROMPT
    usage = USAGE.format(
        dtype=record.dtype,
        messages=_ROW_MESSAGES if own_prompt else _PROJECT_MESSAGES,
        max_new_tokens=(
            "budget.max_completion_tokens"
            if source.budget.max_completion_tokens is not None
            else _LONGEST_REPLY_TOKENS
        ),
    )
    return (
        "With the code that trained it, which reads videos, times and prompts as in training "
        f"({_package(record, 'dynamic-affective-reasoning')}):\n\n"
        f"{block(usage, 'python')}\n\n"
        f"It was written by {_package(record, 'transformers')} and is an ordinary Qwen2.5-VL to "
        "that and to servers that read such folders. They choose frames and count time in their "
        "own ways; what they must repeat is in `budget.json`."
    )


def _package(record: ExportRecord, name: str) -> str:
    return f"{code(name)} {plain(record.versions.get(name, NOT_RECORDED))}"


def _shown(source: Source, record: ExportRecord) -> str:
    budget = source.budget
    rows = [(code(name), code(f"{value}")) for name, value in budget.video.model_dump().items()]
    rows += [
        (code("prompt"), code(budget.prompt)),
        (code("prompt_hash"), code(budget.prompt_hash or NOT_RECORDED)),
        (code("max_completion_tokens"), code(f"{budget.max_completion_tokens or NOT_RECORDED}")),
    ]
    text = table(("`budget.json`", "value"), rows)
    if budget.prompt == ROW_PROMPT:
        return f"{text}\n\nEach row of its training brought its own text beside the video."
    return (
        f"{text}\n\nThe prompt for a clip of 4.0 s, as the chat template renders it; the clip's "
        f"tokens stand where its `<|video_pad|>` does:\n\n{block(record.rendered_prompt, 'text')}"
    )


def _trained(source: Source, record: ExportRecord) -> str:
    began = code(source.shown_base)
    steps = [f"1. from {began}"]
    for number, stage in enumerate(source.stages, 2):
        steps.append(
            f"{number}. {stage.kind}: run {plain(stage.folder.resolve().name)}, {_steps(stage)}"
        )
    if source.step is not None:
        steps[-1] += f"; this is its checkpoint after step {source.step}"
    versions = ", ".join(
        f"{code(name)} {plain(version)}" for name, version in record.versions.items()
    )
    return (
        "\n".join(steps)
        + f"\n\nCode revision of the last run: {_revision(source.stages[-1])}. Exported with: "
        f"{versions}.\n\nConfiguration of the last run:\n\n"
        f"{block(_shown_config(source.stages[-1].config), 'yaml')}"
    )


def _steps(stage: Stage) -> str:
    steps = _read(stage, "done.json").get("steps")
    return f"{steps} steps" if isinstance(steps, int) else f"steps {NOT_RECORDED}"


def _revision(stage: Stage) -> str:
    git = _read(stage, "environment.json").get("git")
    if not isinstance(git, Mapping) or not isinstance(git.get("revision"), str):
        return NOT_RECORDED
    return code(git["revision"]) + (" with changes" if git.get("dirty") else "")


def _read(stage: Stage, name: str) -> Mapping[str, Any]:
    path = stage.folder / name
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error})") from error
    return content if isinstance(content, Mapping) else {}


def _shown_config(config: Mapping[str, Any]) -> str:
    return yaml.safe_dump(_without_folders(dict(config)), sort_keys=False, allow_unicode=True)


def _without_folders(value: Any) -> Any:
    """The same with every path shortened."""
    if isinstance(value, Mapping):
        return {key: _without_folders(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_folders(item) for item in value]
    return last_names(value) if isinstance(value, str) else value
