"""Every real and broken clip goes in and comes out done, rejected or failed for its true reason."""

import csv
from pathlib import Path

import pytest

from data_prep.build.finished import outcomes
from data_prep.build.folder import BuildFolder
from data_prep.build.outcome import Outcome
from tests.data_prep.build.scripted_build import ScriptedPair, run_build
from tests.paths import SHARED, needs_shared

STILL = {
    "derived/still_4s.mp4",  # one picture a hundred times
    "real/exo_htc_rotation.mkv",  # a man who looks into the camera for a second
    "real/exo_midroll_5s.mp4",  # a logo
    "real/exo_sample_av1.mp4",  # the same man
    "real/exo_sample_fragmented.mp4",
    "real/fluent_testvideo_43.avi",  # a test card
    "real/moviepy_no_duration.webm",  # black
    "real/te[s]t_ video ' _ .flv",  # the test card
}
SLIDESHOWS = {
    "derived/slideshow_cuts_2_4_6_total8.mp4",
    "real/moviepy_bitmap.mp4",  # one pixel, another colour each second
}
DECODERS_WORDS = {
    "no video stream": ("no video stream",),
    "not a video": ("not a video",),
    "truncated: shorter than it promises": ("truncated",),
    "does not decode": ("does not decode", "cannot be opened"),
}
"""TRUTH.tsv's verdict -> how the reason of a failure begins."""


def expected(truth: dict[str, str]) -> tuple[str, str, str]:
    """(state, stage, kind) of a file whose reasons no judge finds too low."""
    if truth["verdict"] != "decodes whole":
        return "failed", "look", "undecodable"
    if float(truth["picture_duration_s"]) < 1.0:
        return "rejected", "select", "too_short"
    if truth["file"] in STILL:
        return "rejected", "select", "static"
    if truth["file"] in SLIDESHOWS:
        return "rejected", "select", "slideshow"
    return "done", "decide", ""


@needs_shared
@pytest.mark.slow
def test_every_shared_clip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(SHARED / "videos" / "TRUTH.tsv", encoding="utf-8", newline="") as file:
        truths = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(truths) == 74
    folders = ("derived/*", "real/*", "corrupt/*")
    with ScriptedPair(tmp_path / "servers") as servers:
        code, config = run_build(
            tmp_path / "build", SHARED / "videos", servers, monkeypatch, folders
        )
        assert {line.fault for line in servers.answered()} == {None}
    assert code == 1  # some failed
    came_out = dict(outcomes(BuildFolder(config.out)))
    assert set(came_out) == {truth["file"] for truth in truths}
    for truth in truths:
        outcome = came_out[truth["file"]]
        assert isinstance(outcome, Outcome), truth
        assert (outcome.state, outcome.stage, outcome.kind) == expected(truth), (truth, outcome)
        if outcome.state == "failed":
            assert outcome.detail.startswith(DECODERS_WORDS[truth["verdict"]]), (truth, outcome)
    names = {path.name for path in BuildFolder(config.out).export.iterdir()}
    assert {"train.sft.jsonl", "dev.sft.jsonl", "test.sft.jsonl"} <= names
