"""A build whose models fail three times in ten exports what one with perfect models exports."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from affect.llm.scripted.answered import Answered
from data_prep.build.finished import finished_videos
from data_prep.build.folder import BuildFolder
from data_prep.rendered.encoding import write_clip
from tests.data_prep.build.scripted_build import ScriptedPair, run_build

FRAME_RATE = 10


def write_clips(root: Path, num_clips: int) -> None:
    """A square that crosses a coloured ground, which changes at half the time; 3 to 6.5 s."""
    for number in range(num_clips):
        num_frames = 30 + 5 * number
        frames = np.zeros((num_frames, 64, 64, 3), np.uint8)
        for time in range(num_frames):
            frames[time] = (30 * number, 200 if 2 * time > num_frames else 20, 90)
            left = (time * 3) % 40
            frames[time, left : left + 20, left : left + 20] = (255, 25 * number, 255 - 3 * time)
        write_clip(root / f"clip_{number}.mp4", frames, FRAME_RATE)


def files_under(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def is_right(line: Answered) -> bool:
    """Whether the reply is one that a client takes. The judge's server is given no schema, and what
    such a server puts into a code fence may be taken out of it."""
    harmless = {None, "no_usage"} | ({"fenced"} if line.model == "judge" else set())
    return line.is_paid and line.fault in harmless


@pytest.mark.slow
def test_faults_leave_no_trace_in_the_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    videos = tmp_path / "videos"
    write_clips(videos, 8)
    with ScriptedPair(tmp_path / "perfect") as servers:
        code, perfect = run_build(tmp_path / "perfect_build", videos, servers, monkeypatch)
        asked = servers.answered()
    assert code == 0
    with ScriptedPair(tmp_path / "faulty", faults=0.3, seed=5) as servers:
        code, faulty = run_build(tmp_path / "faulty_build", videos, servers, monkeypatch)
        answered = servers.answered()
    assert code == 0

    exported = files_under(BuildFolder(perfect.out).export)
    assert {"train.sft.jsonl", "train.grpo.jsonl", "statistics.json"} <= set(exported)
    assert files_under(BuildFolder(faulty.out).export) == exported

    # The same questions, each answered once, and each answered wrong at times.
    right = [line for line in answered if is_right(line)]
    assert {line.fault for line in asked} == {None}
    assert Counter(line.digest for line in right) == Counter(
        line.digest for line in asked if line.operation == "reply"
    )
    faults = Counter(line.fault for line in answered if line.fault)
    assert faults.total() >= 20 and len(faults) >= 10 and "malformed" not in faults

    # Not an easy build: reasons were judged too low and written again, and phases were joined.
    finished = list(finished_videos(BuildFolder(faulty.out), faulty))
    assert len(finished) == 8
    rounds = [round_ for one in finished for round_ in one.decided.rounds]
    assert any(round_.failed_segments for round_ in rounds)
    segments = [segment for round_ in rounds for segment in round_.segments]
    assert any(len(segment.merged_spans) > 1 for segment in segments)
