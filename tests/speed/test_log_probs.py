"""The command with few words: keys, equal numbers, and what the figures are made of."""

import json

import pytest
import torch

from speed import log_probs


@pytest.mark.slow
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--json", "--vocabulary", "20000", "--tokens", "1024"]
    assert log_probs.main(given) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report) == [
        *("peak_memory_ratio", "cpu_ratio", "largest_tensor_elements", "weight_gradient_bytes"),
        *("shape", "contenders"),
    ]
    # The weight of the head is the largest there is, but for the logits.
    assert report["largest_tensor_elements"]["plain"] == 1024 * 20_000
    assert report["largest_tensor_elements"]["ours"] == 512 * 20_000
    assert report["weight_gradient_bytes"] == 4 * 512 * 20_000
    assert report["peak_memory_ratio"] > 0  # how much less is for a quiet machine to say
    for one in report["contenders"].values():
        assert one["cpu_seconds"] > 0
        assert one["added_bytes"] == one["peak_bytes"] - one["held_bytes"]
        assert one["added_bytes"] > report["weight_gradient_bytes"]


def test_one_contender_in_this_process() -> None:
    num_threads = torch.get_num_threads()
    try:
        found = log_probs.run_contender("plain", log_probs.Shape(8192, 64, 160))
    finally:
        torch.set_num_threads(num_threads)
    assert found["largest_elements"] == 160 * 8192 and found["largest_shape"] == [160, 8192]
    assert found["peak_bytes"] >= found["held_bytes"] > 0
    assert found["mean_entropy"] == pytest.approx(8.9, abs=0.2)  # uniform over 8,192 is 9.01


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--tokens", "12"], "--tokens is shared out to 8 completions"),
        (["--vocabulary", "100"], "--vocabulary holds at least"),
    ],
)
def test_sizes_that_do_not_fit(
    given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        log_probs.main(given)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_ways_that_differ_are_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"mean_log_prob": -9.0, "mean_entropy": 9.0, "weight_gradient_norm": 0.5}

    def run(contender: str, shape: log_probs.Shape) -> dict[str, float]:
        return {**found, "mean_entropy": 9.1} if contender == "ours" else dict(found)

    monkeypatch.setattr(log_probs, "_run", run)
    with pytest.raises(RuntimeError, match=r"mean_entropy: ours 9\.1, plain 9\.0"):
        log_probs.compare(log_probs.Shape())
