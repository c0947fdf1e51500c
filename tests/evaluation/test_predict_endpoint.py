"""`python -m evaluation.predict --endpoint ...` against scripted servers."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from affect.llm.scripted.process import ScriptedServer
from affect.prompts import prompt_hash
from evaluation import predict, score
from evaluation.predictions import PredictionFile, read_predictions
from tests.evaluation.predictors.scripted_replies import REPLIES
from tests.evaluation.predictors.server_run import BUDGET, PRICES, write_clips
from tests.paths import ROOT

PRICED = [word for key, price in PRICES.items() for word in (f"--endpoint.{key}", str(price))]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedServer]:
    folder = tmp_path_factory.mktemp("scripted")
    with ScriptedServer("openai", REPLIES, folder, by_model=True, most_in_a_row=0) as started:
        yield started


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_clips(tmp_path, 5)
    budget = {
        "video": BUDGET.model_dump(),
        "prompt": "segment",
        "prompt_hash": prompt_hash("segment"),
        "max_completion_tokens": 60,
    }
    (tmp_path / "budget.json").write_text(json.dumps(budget), encoding="utf-8")
    return tmp_path


def words(data: Path, base_url: str, *more: str, model: str = "small") -> list[str]:
    return [
        *("--rows", str(data / "rows.jsonl"), "--name", "test", "--out", str(data / "run")),
        *("--budget", str(data / "budget.json"), "--decode-timeout-seconds", "0"),
        *("--endpoint.base_url", base_url, f"--endpoint.model={model}", *more),
    ]


def complaints(told: str) -> list[str]:
    """What the command says on stderr, without its progress."""
    lines = [line for line in told.splitlines() if line.startswith("predict: ")]
    return [line for line in lines if "|" not in line]


def answers(data: Path) -> PredictionFile:
    return read_predictions(data / "run" / "predictions" / "test.jsonl")


def test_a_prediction_its_header_and_its_score(
    server: ScriptedServer, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = words(data, server.base_url, *PRICED, "--top-k", "5", "--temperature=0.5")
    assert predict.main(asked) == 0
    assert "5 rows answered, 0 kept from before, 0 failed; 5 replies bought, cost " in (
        capsys.readouterr().out
    )
    header = answers(data).header
    assert (header.engine, header.model, header.model_sha256) == ("endpoint", "small", None)
    assert header.endpoint == {
        "api": "openai",
        "model": "small",
        "media": "frames",
        "structured_output": False,
        "temperature": 0.5,
        "top_p": 1.0,
        "extra_body": {"top_k": 5},
    }
    assert header.budget == BUDGET.model_dump(mode="json")
    assert (header.prompt, header.prompt_hash) == ("segment", prompt_hash("segment"))
    assert (header.temperature, header.top_k, header.seed) == (0.5, 5, 0)
    assert (header.max_new_tokens, header.dtype) == (60, None)
    assert "127.0.0.1" not in (data / "run/predictions/test.jsonl").read_text(encoding="utf-8")
    path = str(data / "run" / "predictions" / "test.jsonl")
    rows = ["--rows", str(data / "rows.jsonl"), "--replicates", "10"]
    capsys.readouterr()
    assert score.main(["--predictions", path, *rows, "--protocol", "strict", "--json"]) == 0
    scores = {row["metric"]: row for row in json.loads(capsys.readouterr().out)}
    assert (scores["emo_acc"]["mean"], scores["emo_acc"]["num_scored"]) == (1.0, 5)
    before = len(server.answered())
    assert predict.main(asked) == 0
    assert "all 5 rows are answered already" in capsys.readouterr().out
    assert len(server.answered()) == before


def test_the_money_ends_it_and_more_money_goes_on(
    server: ScriptedServer, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = words(data, server.base_url, *PRICED, "--endpoint.max_concurrent", "1")
    assert predict.main([*asked, "--max-cost", "2.5"]) == 3
    told = capsys.readouterr().err
    num = len(answers(data).answered)
    assert 0 < num < 5
    assert f"stopped with {num} of 5 rows answered ({num} repl" in told
    assert "of --max-cost (2.5) is spent" in complaints(told)[0]
    before = len(server.answered())
    assert predict.main([*asked, "--max-cost", "100"]) == 0
    assert len(server.answered()) == before + 5 - num
    assert predict.main([*asked, "--max-cost", "100"]) == 0


def test_failed_rows_are_tried_again_and_a_wrong_key_leaves_none(
    server: ScriptedServer, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert predict.main(words(data, server.base_url, model="not_allowed")) == 2
    (line,) = complaints(capsys.readouterr().err)
    assert "not_allowed: segment: HTTP 401: the key is not valid" in line
    # A command that came to nothing binds nobody: another model may use the name.
    assert answers(data).replies == {}
    assert predict.main(words(data, server.base_url, model="bad_request")) == 1
    assert predict.main(words(data, server.base_url, model="bad_request")) == 1
    assert [answer.text for answer in answers(data).replies.values()] == [None] * 5
    assert predict.main(words(data, server.base_url)) == 2
    assert "was begun in another way" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--endpoint.bas_url", "x"], '--endpoint.bas_url: unknown key "bas_url"; did you mean'),
        (["--endpoint.temperature", "3"], "--endpoint.temperature: Input should be less than"),
        (["--endpoint.base_url"], "--endpoint.base_url needs a value"),
        (["--endpoint..x", "1"], "--endpoint..x: options read --endpoint.KEY VALUE"),
        (["--endpoint", "nowhere.yaml"], "--endpoint nowhere.yaml: there is no such file"),
        (["--endpoint.api_key_env", "NOT_SET"], "predict: --endpoint: its key is read"),
        (["--endpoint.media", "inline"], "media 'inline' is Gemini's"),
        (["--max-cost", "3"], "--max-cost 3: the price of small is not known"),
        (["--budget", "default"], "give --max-new-tokens N"),
        (["--temperature", "2.5"], "a model on a server takes 0 to 2"),
    ],
)
def test_mistakes_are_one_line(
    more: list[str], told: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert predict.main(words(data, "http://127.0.0.1:9/v1", *more)) == 2
    lines = complaints(capsys.readouterr().err)
    assert len(lines) == 1 and told in lines[0]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            ["--run", "r"],
            "Give one of --run RUN, --model FOLDER and --endpoint FILE, not --run and",
        ),
        (["--engine", "vllm"], "--engine vllm is for a checkpoint"),
        (["--batch-size", "2"], "--batch-size is for transformers, vllm"),
        (["--device", "cpu"], "--device is for transformers"),
        (["--num-gpus", "2"], "--num-gpus is for vllm"),
        (["--checkpoint", "2"], "--checkpoint N needs --run RUN"),
    ],
)
def test_options_that_do_not_fit(
    more: list[str], told: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        predict.main(words(data, "http://h/v1", *more))
    assert told in capsys.readouterr().err


def test_a_budget_must_be_given(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = words(data, "http://h/v1")
    at = asked.index("--budget")
    assert predict.main(asked[:at] + asked[at + 2 :]) == 2
    assert "predict: small: has no budget.json; name one with --budget FILE" in (
        capsys.readouterr().err
    )


def test_a_file_of_settings_below_the_command_line(
    server: ScriptedServer, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data / "endpoint.yaml"
    path.write_text("model: another\nmax_concurrent: 2\ntemperature: 0.25\n", encoding="utf-8")
    assert predict.main(words(data, server.base_url, "--endpoint", str(path))) == 0
    header = answers(data).header
    assert (header.model, header.temperature) == ("small", 0.25)
    path.write_text("model: m\nmax_concurent: 2\n", encoding="utf-8")
    assert predict.main(words(data, server.base_url, "--endpoint", str(path))) == 2
    assert f'{path}:2: unknown key "max_concurent"' in capsys.readouterr().err


def start(arguments: list[str]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "evaluation.predict", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def wait_for(num: int, server: ScriptedServer) -> None:
    deadline = time.monotonic() + 60
    while sum(request.is_paid for request in server.answered()) < num:
        assert time.monotonic() < deadline, "the server was not asked"
        time.sleep(0.01)


def rows_of(data: Path) -> dict[str, str | None]:
    return {row_id: answer.text for row_id, answer in answers(data).replies.items()}


@pytest.mark.slow
def test_killed_anywhere_and_started_again_is_as_never_killed(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("whole", "killed")}
    for folder in folders.values():
        write_clips(folder, 24)
    budget = ("--budget", "default", "--max-new-tokens", "60")
    more = [*budget, "--endpoint.max_concurrent", "2", "--decode-timeout-seconds", "120"]
    with ScriptedServer("openai", REPLIES, tmp_path / "log", latency_seconds=0.03) as server:
        whole = words(folders["whole"], server.base_url, *more)
        assert predict.main(whole) == 0
        num_whole = len(server.answered())
        killed = words(folders["killed"], server.base_url, *more)
        for num in (5, 12):
            process = start(killed)
            wait_for(num_whole + num, server)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
        interrupted = start(killed)
        wait_for(num_whole + 17, server)
        interrupted.send_signal(signal.SIGINT)
        _, said = interrupted.communicate(timeout=60)
        assert interrupted.returncode == 130
        assert "of 24 rows answered (" in said and "goes on from there" in said
        assert predict.main(killed) == 0
        paid = [request for request in server.answered()[num_whole:] if request.is_paid]
    assert rows_of(folders["killed"]) == rows_of(folders["whole"])
    # What was under way at a stop may be asked again: two requests each time, and no more.
    assert 24 <= len(paid) <= 24 + 2 * 3


@pytest.mark.slow
@pytest.mark.parametrize("api", ["openai", "gemini"])
def test_faults_of_a_server_cost_no_row(api: str, tmp_path: Path) -> None:
    write_clips(tmp_path, 16)
    more: list[Any] = ["--budget", "default", "--max-new-tokens", "60"]
    more += ["--endpoint.timeout_seconds", "1", "--endpoint.api", api]
    if api == "gemini":
        more += ["--endpoint.api_key_env", "PATH"]
    ends = []
    for faults in (0.0, 0.4):
        log = tmp_path / f"log{faults}"
        run = tmp_path / f"run{faults}"
        more += ["--out", str(run)]
        with ScriptedServer(
            api, REPLIES, log, faults=faults, seed=3, retry_after_seconds=0
        ) as server:
            code = predict.main(words(tmp_path, server.base_url, *more))
            met = {request.fault for request in server.answered()}
        ends.append((code, met, read_predictions(run / "predictions" / "test.jsonl").replies))
    (code, met, right), (_, met_faults, came) = ends
    assert (code, met) == (0, {None})
    assert len(met_faults) > 5
    assert set(came) == set(right)
    lasting = [answer.error for answer in came.values() if answer.error is not None]
    assert all(error.startswith("refused: ") for error in lasting)
    same = [row_id for row_id, answer in came.items() if answer == right[row_id]]
    assert len(same) >= 4
    assert os.environ["PATH"] not in str(came)
