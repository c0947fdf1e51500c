"""Released timelines are up to .15 s off: their own text is a right reply, as it is in rewards."""

import json
from pathlib import Path

import pytest

from affect.parsing import parse_reply
from affect.timeline import reply_tolerance_seconds
from evaluation.clips import load_clips, read_truths
from evaluation.metrics import score_clips
from evaluation.predictions import read_predictions
from rewards.trl_adapter import read_truth
from tests.evaluation.files import reply, sft_row, write_lines, write_predictions

TIGHT = [[0, 4, "Joy"], [4, 9, "Fear"]]
LOOSE = {
    "early end": [[0, 4, "Joy"], [4, 8.9, "Fear"]],
    "late start": [[0.12, 4, "Joy"], [4, 9, "Fear"]],
    "gap": [[0, 3.9, "Joy"], [4, 9, "Fear"]],
}


def strict_emo_acc(folder: Path, truth: list[list[object]], answer: list[list[object]]) -> float:
    rows = write_lines(folder / "rows.jsonl", [sft_row("a", truth, 9.0)])
    predictions = write_predictions(folder / "p.jsonl", {"a": reply(answer)})
    clips = load_clips(read_truths(rows), read_predictions(predictions))
    (mean,) = [row.mean for row in score_clips(clips, ["strict"]) if row.metric == "emo_acc"]
    assert mean is not None
    return mean


@pytest.mark.parametrize("truth", LOOSE.values(), ids=LOOSE)
def test_the_truths_own_text_has_full_marks(tmp_path: Path, truth: list[list[object]]) -> None:
    assert strict_emo_acc(tmp_path, truth, truth) == 1.0
    assert strict_emo_acc(tmp_path, truth, TIGHT) == 1.0
    # Where the truth needs no such leave, no reply has it.
    assert strict_emo_acc(tmp_path, TIGHT, truth) == 0.0


@pytest.mark.parametrize("truth", [TIGHT, *LOOSE.values()], ids=["tight", *LOOSE])
@pytest.mark.parametrize("answer", [TIGHT, *LOOSE.values(), [[0, 4, "Joy"], [4, 8.8, "Fear"]]])
def test_rewards_and_metrics_read_a_reply_alike(
    tmp_path: Path, truth: list[list[object]], answer: list[list[object]]
) -> None:
    rewarded = read_truth(reply(truth), 9.0, "row a")
    rows = write_lines(tmp_path / "rows.jsonl", [sft_row("a", truth, 9.0)])
    (scored,) = read_truths(rows)
    assert reply_tolerance_seconds(scored.timeline) == rewarded.tolerance_seconds
    predictions = write_predictions(tmp_path / "p.jsonl", {"a": reply(answer)})
    (clip,) = load_clips([scored], read_predictions(predictions))
    parsed = parse_reply(
        json.dumps(json.loads(reply(answer))), 9.0, tolerance_seconds=rewarded.tolerance_seconds
    )
    assert clip.reply is not None
    assert (clip.reply.timeline is None) == (parsed.timeline is None)
