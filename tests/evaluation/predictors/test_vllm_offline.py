"""The offline vLLM predictor against transformers: the same model, clips and prompts."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from affect.model.adapter import add_adapter
from affect.model.inputs import encode_prompt
from affect.model.loading import load_policy
from affect.records import read_rows, write_sft_rows
from affect.trained_budget import TrainedBudget
from affect.video import GuardedReader
from evaluation.predictions import PredictionFile, read_predictions
from evaluation.predictors.local import LocalModel
from evaluation.predictors.row_clip import sample_row
from evaluation.predictors.vllm_offline import VllmModel
from evaluation.settings import Sampling
from tests.evaluation.predictors.vllm_answers import GREEDY, HOT, MAX_MODEL_TOKENS
from tests.paths import ROOT
from tests.tiny_adapter import move_adapter
from tests.train.drawn_rows import BUDGET, CLIPS, row
from tests.train.launching import Places, make_places
from tests.train.vllm_rollouts import PYTHON, needs_vllm, sampling_log_probs

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
WAYS = ("greedy", "stopped", "hot", "small")
BAD = {
    "missing": {"video": "videos/nowhere.mp4"},
    "other_length": {"duration_seconds": 9.0, "timeline": None},
    "endless": {},
}


def test_without_vllm_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"no vLLM.*make vllm.*--engine transformers needs none"):
        VllmModel(tmp_path, BUDGET, "row", GREEDY, tmp_path, GuardedReader(1.0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dtype": "int8"}, "unknown dtype 'int8'"),
        ({"batch_size": 0}, "--batch-size must be 1 or more"),
        ({"num_gpus": 0}, "--num-gpus must be 1 or more"),
        ({"memory_share": 1.5}, r"--memory-share must lie in \(0, 1\]"),
        ({"memory_share": 0.0}, r"--memory-share must lie in \(0, 1\]"),
        ({"max_model_tokens": 60}, "--max-model-tokens 60 leaves no room"),
    ],
)
def test_settings_out_of_range_are_refused_before_anything_is_loaded(
    tmp_path: Path, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        VllmModel(tmp_path, BUDGET, "row", Sampling(60), tmp_path, GuardedReader(1.0), **settings)  # type: ignore[arg-type]


def ask(model: Path, world: Path, out: Path, *ways: str) -> Mapping[str, PredictionFile]:
    """The predictor's files, from the environment that has vLLM."""
    out.mkdir()
    command = [str(PYTHON), "-m", "tests.evaluation.predictors.vllm_answers"]
    command += [str(model), str(world), str(out), *ways]
    with (out / "log").open("wb") as log:
        run = subprocess.run(
            command, cwd=ROOT, env=ENVIRONMENT, stdout=log, stderr=subprocess.STDOUT, check=False
        )
    assert run.returncode == 0, (out / "log").read_text(errors="replace")[-3000:]
    return {way: read_predictions(out / f"{way}.jsonl") for way in ways}


def token_ids(out: Path, way: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = json.loads((out / f"{way}.ids.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    """A trained tiny model; rows of its four clips, and three that can't be answered."""
    places = make_places(tmp_path_factory.mktemp("vllm_offline"))
    endless = "<video>\n" + "a viewer " * MAX_MODEL_TOKENS
    rows = [row(name) for name in CLIPS]
    for name, changes in BAD.items():
        text = endless if name == "endless" else "<video>\nDescribe."
        rows.append(row("square", text, id=name, **changes))
    write_sft_rows(places.world / "asked.jsonl", rows)
    return places


@pytest.fixture(scope="module")
def asked(places: Places) -> Mapping[str, PredictionFile]:
    """One engine, asked in every way."""
    return ask(places.started, places.world, places.folder / "out", *WAYS)


def local_model(folder: Path, places: Places) -> LocalModel:
    return LocalModel(folder, BUDGET, "row", GREEDY, places.world, GuardedReader(60.0))


def check_greedy(
    folder: Path, places: Places, found: PredictionFile, ids: dict[str, list[int]]
) -> int:
    """Token by token as transformers', or parted where two tokens are as good; how many equal."""
    model = local_model(folder, places)
    rows = [one for one in read_rows(places.world / "asked.jsonl") if one.id in CLIPS]
    num_equal = 0
    for one, expected in zip(rows, model.answer_batch(rows), strict=True):
        theirs = found.replies[one.id]
        assert theirs.num_tokens == len(ids[one.id])
        if theirs == expected:
            num_equal += 1
            continue
        clip = sample_row(one, places.world, BUDGET, model.reader)
        prompt = encode_prompt(model.processor, one.prompt, [clip])
        table = sampling_log_probs(model.model, model.processor, prompt, ids[one.id], 1.0)
        best = table.max(dim=-1).values
        own = table[torch.arange(len(ids[one.id])), ids[one.id]]
        assert float((best - own).max()) < 1e-3, one.id
    return num_equal


@needs_vllm
@pytest.mark.slow
def test_greedy_replies_are_those_of_transformers(
    places: Places, asked: Mapping[str, PredictionFile]
) -> None:
    ids = token_ids(places.folder / "out", "greedy")
    assert check_greedy(places.started, places, asked["greedy"], ids) == len(CLIPS)
    assert len({answer.text for answer in asked["greedy"].replies.values()}) >= 3
    lengths = {asked["greedy"].replies[name].finished for name in CLIPS}
    assert lengths == {True, False}, "one reply ends by itself, one is cut off"


@needs_vllm
@pytest.mark.slow
def test_every_row_is_in_the_file_and_the_unusable_have_their_reason(
    asked: Mapping[str, PredictionFile],
) -> None:
    for way, file in asked.items():
        assert set(file.replies) == {*CLIPS, *BAD}, way
        assert file.answered == set(CLIPS), way
        assert "nowhere.mp4" in str(file.replies["missing"].error)
        assert "video_duration is 9.0 s" in str(file.replies["other_length"].error)
        limit = MAX_MODEL_TOKENS - (HOT if way in ("hot", "small") else GREEDY).max_new_tokens
        error = str(file.replies["endless"].error)
        assert f"at most {limit} leave room" in error and "--max-model-tokens" in error


@needs_vllm
@pytest.mark.slow
def test_stopped_and_started_again_is_as_never_stopped(
    places: Places, asked: Mapping[str, PredictionFile]
) -> None:
    replies = {name: asked["stopped"].replies[name] for name in CLIPS}
    assert replies == {name: asked["greedy"].replies[name] for name in CLIPS}
    lines = (places.folder / "out" / "stopped.jsonl").read_text(encoding="utf-8").splitlines()
    names = [json.loads(line).get("id") for line in lines[1:]]
    assert sorted(names) == sorted([*CLIPS, *BAD]), "each row once"
    asked_again = set(token_ids(places.folder / "out", "stopped"))
    assert asked_again < set(CLIPS) and names[0] in set(CLIPS) - asked_again


@needs_vllm
@pytest.mark.slow
def test_a_sampled_reply_hangs_on_its_row_and_seed_not_on_the_batch(
    places: Places, asked: Mapping[str, PredictionFile]
) -> None:
    hot, small = (token_ids(places.folder / "out", way) for way in ("hot", "small"))
    assert hot == small
    greedy = token_ids(places.folder / "out", "greedy")
    assert all(hot[name] != greedy[name][: len(hot[name])] for name in CLIPS)


@needs_vllm
@pytest.mark.slow
def test_the_command_asks_an_adapter_merged_into_its_base(places: Places) -> None:
    model, processor = load_policy(places.started)
    policy = add_adapter(model, base=str(places.started), rank=4, alpha=8.0)
    move_adapter(policy)
    with torch.no_grad():
        for weight in policy.parameters():
            if weight.requires_grad:
                weight *= 2  # so far that the trained base's answers are gone
    folder, out = places.folder / "adapter", places.folder / "run"
    policy.save_pretrained(folder)
    processor.save_pretrained(folder)
    budget = TrainedBudget.of(BUDGET, prompt="row", max_completion_tokens=GREEDY.max_new_tokens)
    budget.write(folder / "budget.json")
    rows, temporary = places.world / "asked.jsonl", places.folder / "temporary"
    temporary.mkdir()
    command = [str(PYTHON), "-m", "evaluation.predict", "--engine", "vllm", "--eager"]
    command += ["--model", str(folder), "--rows", str(rows), "--name", "test", "--out", str(out)]
    command += ["--dtype", "float32", "--memory-share", "0.1", "--batch-size", "8"]
    command += ["--max-model-tokens", str(MAX_MODEL_TOKENS)]
    environment = {**ENVIRONMENT, "TMPDIR": str(temporary)}
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1, run.stderr[-3000:]
    assert "4 rows answered, 0 kept from before, 3 failed" in run.stdout
    assert not list(temporary.glob("merged_adapter_*")), "the merged model is gone again"
    found = read_predictions(out / "predictions" / "test.jsonl")
    header = found.header.model_dump()
    assert (header["engine"], header["dtype"], header["prompt"]) == ("vllm", "float32", "row")
    # The adapter speaks differently from its base, and vLLM as transformers does.
    asked = [one for one in read_rows(rows) if one.id in CLIPS]
    ours, plain = (local_model(one, places).answer_batch(asked) for one in (folder, places.started))
    theirs = [found.replies[one.id] for one in asked]
    assert sum(a == b for a, b in zip(theirs, ours, strict=True)) >= 3
    assert not any(a == b for a, b in zip(theirs, plain, strict=True))
