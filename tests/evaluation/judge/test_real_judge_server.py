"""Both judges against a real server: vLLM's OpenAI server with a tiny random Qwen2.5-VL.

What its random words say is worth nothing. That the frames, the prompts and the schemas are taken,
that integers come back within their range, and that what can't be used is counted, is asked here.
"""

from pathlib import Path

import pytest

from affect.judge_dimensions import JUDGE_DIMENSIONS
from tests.affect.llm.vllm_openai import VllmOpenAI, needs_vllm_server
from tests.evaluation.judge.judged_runs import GOOD, judge_run, scores, segments, write_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), needs_vllm_server]

TWO = [(0.0, 2.0, "Joy", GOOD), (2.0, 4.0, "Fear", f"{GOOD} It ends.")]


@pytest.mark.parametrize("judge", ["judge_paper", "judge_hardened"])
def test_a_real_server_takes_the_questions(
    vllm_server: VllmOpenAI, tmp_path: Path, judge: str
) -> None:
    run = write_run(tmp_path, {"a": TWO})
    model = {"model": "tiny", "temperature": 1.0, "max_concurrent": 2}
    code = judge_run(
        run, vllm_server.base_url, judge=judge, model=model, max_tokens=200, max_asks=2, samples=2
    )
    found = segments(run, f"{judge}.tiny")
    assert [one.segment for one in found] == [0, 1]
    for one in found:
        if one.state == "judged":
            assert one.scores is not None and set(one.scores) == set(JUDGE_DIMENSIONS)
        else:
            # Random words may run into the limit within the comment: never a request refused.
            assert "cut_off" in one.why, one.why
    num_unscored = sum(one.state == "unscored" for one in found)
    assert code == (1 if num_unscored else 0)
    row = scores(run, f"{judge}.tiny")["overall"]
    assert (row.num_judged, row.num_unscored) == (2 - num_unscored, num_unscored)
