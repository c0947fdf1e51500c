"""The engine's process: its environment, and what a start that fails tells."""

import importlib.util
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT
from train.vllm_process import EngineProcess, engine_environment


def test_a_launchers_variables_stay_outside() -> None:
    given = {
        **{"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "MASTER_PORT": "1", "HOME": "/h"},
        **{"TORCHELASTIC_RUN_ID": "x", "ACCELERATE_USE_DEEPSPEED": "true", "PYTHONPATH": "/p"},
        "VLLM_CPU_KVCACHE_SPACE": "4",
    }
    assert engine_environment(given) == {
        **{"HOME": "/h", "VLLM_CPU_KVCACHE_SPACE": "4"},
        **{"CUDA_VISIBLE_DEVICES": "1", "PYTHONPATH": f"{ROOT}:/p"},
    }


@pytest.mark.parametrize(
    ("visible", "local_rank", "expected"),
    [(None, "0", "0"), ("4,5", "1", "5"), ("", "0", ""), ("7", "1", "7")],
)
def test_an_engine_has_its_trainers_gpu(
    visible: str | None, local_rank: str, expected: str
) -> None:
    given = {"LOCAL_RANK": local_rank}
    if visible is not None:
        given["CUDA_VISIBLE_DEVICES"] = visible
    assert engine_environment(given)["CUDA_VISIBLE_DEVICES"] == expected


def test_a_start_that_fails_shows_the_end_of_the_log(tmp_path: Path) -> None:
    process = EngineProcess(Path(sys.executable), ["--model"], tmp_path / "log")
    with pytest.raises(ValueError, match=r"ended while it started[\s\S]*--model: expected one"):
        process.wait(start_timeout_seconds=60, timeout_seconds=1)
    process.close()
    process.close()
    assert not process.socket.parent.exists()


def test_an_environment_without_vllm_is_told(tmp_path: Path) -> None:
    if importlib.util.find_spec("vllm"):
        pytest.skip("vLLM is installed beside the trainer here")
    arguments = ["--model", "none", "--max-model-tokens", "8", "--sync-root", str(tmp_path)]
    process = EngineProcess(Path(sys.executable), arguments, tmp_path / "log")
    with pytest.raises(ValueError, match="has no vLLM: run `make vllm`"):
        process.wait(start_timeout_seconds=60, timeout_seconds=1)
    process.close()


def test_a_start_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    arguments = ["--model", "none", "--max-model-tokens", "8", "--sync-root", str(tmp_path)]
    process = EngineProcess(Path(sys.executable), arguments, tmp_path / "log")
    with pytest.raises(ValueError, match=r"did not start within 0.01 s; raise rollout\.vllm"):
        process.wait(start_timeout_seconds=0.01, timeout_seconds=1)
    assert process.process.poll() is not None
