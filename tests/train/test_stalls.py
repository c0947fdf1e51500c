"""A process that stands still says where, with the others of its run, and ends."""

import inspect
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import pytest

from tests.paths import ROOT
from train.stages import StageNow, stage
from train.stall_timeout import collective_timeout_seconds
from train.stalls import STALLED_EXIT_CODE, StallWatch, waiting_function

# A process of a run: it works for a while in short stages and then stands still in one.
PROCESS = """
import sys, time
from pathlib import Path
from train.stages import note_step, stage
from train.stalls import StallWatch

rank, num, limit, works, name, stands = sys.argv[2:]
watch = StallWatch(float(limit), Path(sys.argv[1]), process_index=int(rank),
                   num_processes=int(num), command="train/sft.py --config a.yaml",
                   before_end=[lambda: print("closed", flush=True)])
def standing_still():
    print("standing still", flush=True)
    time.sleep(float(stands))
with watch:
    note_step(12)
    end = time.monotonic() + float(works)
    while time.monotonic() < end:
        with stage("decode", ["row a"]):
            time.sleep(0.05)
    if name != "nothing":
        with stage("sampling"), stage(name, ["row b"]):
            standing_still()
print("whole")
"""


def start(
    folder: Path, rank: int, num: int, limit: float, works: float, name: str, stands: float = 30
) -> subprocess.Popen[str]:
    """Works for so many seconds and stands still for so many, in the named stage."""
    arguments = [str(folder), str(rank), str(num), str(limit), str(works), name, str(stands)]
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_one_process_names_stage_step_rows_and_stack(tmp_path: Path) -> None:
    process = start(tmp_path / "stalled", 0, 1, 0.6, 0.0, "rewards")
    out, err = process.communicate(timeout=60)
    assert process.returncode == STALLED_EXIT_CODE == 124
    assert out == "standing still\nclosed\n"
    assert "rank 0 of 1 stood still for 1 s in rewards (in sampling), step 12" in err
    assert "rows read last: row b" in err
    assert "in standing_still" in err and "Thread" in err
    assert "a reward function does not come back" in err
    assert "raise stall_timeout_seconds (now 0.6; 0 for no limit)" in err
    assert "the same command:\n  train/sft.py --config a.yaml" in err
    assert (tmp_path / "stalled" / "rank_0.txt").read_text() == err


def test_all_processes_speak_and_end_together(tmp_path: Path) -> None:
    """The second one has worked for longer, so its own time is not over when the first speaks."""
    folder = tmp_path / "stalled"
    processes = [
        start(folder, 0, 2, 1.5, 0.0, "rewards"),
        start(folder, 1, 2, 30.0, 1.0, "checkpoint"),
    ]
    begun = time.monotonic()
    told = [process.communicate(timeout=60)[1] for process in processes]
    assert time.monotonic() - begun < 20
    assert [process.returncode for process in processes] == [124, 124]
    assert "rank 0 of 2 stood still for 2 s in rewards" in told[0]
    assert "the cause is most likely here: a reward function" in told[0]
    assert "rank 1 of 2 stood still for" in told[1] and "in checkpoint (in sampling)" in told[1]
    assert "ended with rank 0, which stood still first" in told[1]
    assert sorted(path.name for path in folder.iterdir()) == ["rank_0.txt", "rank_1.txt"]


def test_one_that_can_not_speak_is_named(tmp_path: Path) -> None:
    process = start(tmp_path / "stalled", 0, 3, 0.5, 0.0, "rewards")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 124
    assert "rank 1, 2 said nothing: a library holds its interpreter" in err


@pytest.mark.parametrize("limit", [0.0, 1.5])
def test_a_process_that_moves_is_left_alone(tmp_path: Path, limit: float) -> None:
    process = start(tmp_path / "stalled", 0, 1, limit, 2.0, "nothing")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "whole\n", "")
    assert not (tmp_path / "stalled").exists()


def test_a_stopped_process_is_not_held_to_its_pause(tmp_path: Path) -> None:
    """Ctrl-Z, and on again: nothing moved meanwhile, and nothing could."""
    process = start(tmp_path / "stalled", 0, 1, 2.0, 0.0, "rewards", stands=3.5)
    assert process.stdout is not None and process.stdout.readline() == "standing still\n"
    process.send_signal(signal.SIGSTOP)
    time.sleep(2.4)
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def test_what_an_earlier_start_left_is_cleared(tmp_path: Path) -> None:
    (tmp_path / "stalled").mkdir()
    (tmp_path / "stalled" / "rank_1.txt").write_text("old")
    watch = StallWatch(0.2, tmp_path / "stalled", process_index=0, num_processes=2)
    watch.clear()
    watch.clear()
    assert not (tmp_path / "stalled").exists()


def test_a_waiting_process_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = StallWatch(60.0, tmp_path, process_index=0, num_processes=2)
    marks = StageNow(("sampling", "rewards"), ("a",), 3, 0.0)
    monkeypatch.setattr("train.stalls.waiting_function", lambda frame: "all_gather")
    text = watch.message(marks, 61.0)
    assert (
        "rank 0 of 2 waits for the other processes (all_gather) in rewards (in sampling), step 3, "
        "for 61 s" in text
    )
    assert "the cause is in a process that does not wait" in text


def test_waiting_is_seen_in_the_stack() -> None:
    """Frames of modules with torch's names, as the real ones would stand in the stack."""

    def frame_within(module: str) -> FrameType:
        space = {"__name__": module, "frame": inspect.currentframe}
        exec("def all_reduce(inner): return inner()\n", space)
        return space["all_reduce"](inspect.currentframe)  # type: ignore[operator,no-any-return]

    assert waiting_function(frame_within("torch.distributed.distributed_c10d")) == "all_reduce"
    assert waiting_function(frame_within("deepspeed.comm.comm")) == "all_reduce"
    assert waiting_function(frame_within("torch.nn.functional")) is None
    assert waiting_function(None) is None


def test_torch_waits_longer_than_the_watch() -> None:
    assert collective_timeout_seconds(1800.0) == 1920.0
    assert collective_timeout_seconds(0) is collective_timeout_seconds(None) is None


def test_stages_of_any_name_have_advice(tmp_path: Path) -> None:
    with stage("a stage that nobody knows"):
        text = StallWatch(60.0, tmp_path).message(StageNow(("odd",), (), 1, 0.0), 60.0)
    assert "rank 0 of 1: see the stack above" in text
    assert "rows read last" not in text
