"""A prediction through vLLM's own OpenAI server, with a tiny random Qwen2.5-VL, and its score."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation import predict, score
from evaluation.predictions import read_predictions
from tests.affect.llm.vllm_openai import VllmOpenAI, needs_vllm_server
from tests.evaluation.predictors.server_run import BUDGET, write_clips

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), needs_vllm_server]


def test_predicted_and_scored(
    vllm_server: VllmOpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_clips(tmp_path, 4)
    (tmp_path / "budget.json").write_text(json.dumps({"video": BUDGET.model_dump()}))
    (tmp_path / "videos" / "row_003.mp4").write_bytes(b"no video")
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    asked = [
        *(*rows, "--out", str(tmp_path / "run"), "--budget", str(tmp_path / "budget.json")),
        *("--endpoint.base_url", vllm_server.base_url, "--endpoint.model", "tiny"),
        *("--max-new-tokens", "24", "--decode-timeout-seconds", "0"),
        *("--temperature", "0.8", "--top-k", "20", "--seed", "3"),
    ]
    replies: dict[str, Any] = {}
    for name, media in (("frames", "frames"), ("again", "frames"), ("clips", "video_url")):
        # Another seed for the second one, so that its replies are bought and not kept ones.
        seed = ("--seed", "4") if name == "again" else ()
        assert predict.main([*asked, "--name", name, "--endpoint.media", media, *seed]) == 1
        file = read_predictions(tmp_path / "run" / "predictions" / f"{name}.jsonl")
        assert sorted(file.answered) == ["row_000", "row_001", "row_002"]
        assert "row_003.mp4" in (file.replies["row_003"].error or "")
        for row_id in file.answered:
            answer = file.replies[row_id]
            assert answer.num_tokens is not None and 1 <= answer.num_tokens <= 24
            assert answer.finished is not None
        replies[name] = {row_id: file.replies[row_id].text for row_id in file.answered}
    assert replies["frames"] != replies["again"]
    assert len(set(replies["frames"].values())) == 3
    capsys.readouterr()
    predictions = str(tmp_path / "run" / "predictions" / "frames.jsonl")
    assert score.main(["--predictions", predictions, *rows, "--replicates", "10", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert {(row["num_missing"], row["num_scored"] + row["num_unparsed"]) for row in scores} == {
        (1, 3)
    }
