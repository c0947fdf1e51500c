"""Each protocol on cases computed by hand (cases/protocols.json, each with its reason)."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from affect.matching import interval_iou
from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import Segment, Timeline
from evaluation.metrics import PROTOCOLS, Clip, choose_protocols, make_clip, score_clips

CASES = json.loads((Path(__file__).parents[1] / "cases" / "protocols.json").read_text("utf-8"))


def timeline(segments: list[list[Any]], duration_seconds: float) -> Timeline:
    return Timeline(
        tuple(
            Segment(float(start), float(end), emotion, "They dance.")
            for start, end, emotion in segments
        ),
        duration_seconds,
    )


def reply_text(reply: Any) -> str | None:
    if reply is None or isinstance(reply, str):
        return reply
    return json.dumps(
        {
            "segments": [
                {"start_time": start, "end_time": end, "emotion": emotion, "reason": "They dance."}
                for start, end, emotion in reply
            ]
        }
    )


def clips_of(case: dict[str, Any]) -> list[Clip]:
    return [
        make_clip(
            f"{index}/{copy}",
            timeline(clip["truth"], clip["duration"]),
            reply_text(clip["reply"]),
        )
        for index, clip in enumerate(case["clips"])
        for copy in range(clip.get("times", 1))
    ]


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any], protocol: str) -> None:
    expected = dict(case["expected"][protocol])
    counts = expected.pop("counts")
    rows = {row.metric: row for row in score_clips(clips_of(case), [protocol])}
    assert expected.keys() <= rows.keys()
    for metric, mean in expected.items():
        if mean is None:
            assert (rows[metric].mean, rows[metric].low, rows[metric].high) == (None, None, None)
        else:
            assert rows[metric].mean == pytest.approx(mean, abs=1e-12), (metric, case["reason"])
    for row in rows.values():
        assert [row.num_scored, row.num_unparsed, row.num_missing] == counts


def test_every_metric_is_in_some_case() -> None:
    for name, protocol in PROTOCOLS.items():
        checked = {metric for case in CASES for metric in case["expected"][name]}
        assert set(protocol.metrics) <= checked


def test_any_timeline_scored_against_itself_is_one() -> None:
    random_source = random.Random(7)
    clips = []
    for index in range(200):
        boundaries = sorted(random_source.sample(range(1, 300), random_source.randint(0, 6)))
        duration_seconds = 30.0
        edges = [0.0, *(boundary / 10 for boundary in boundaries), duration_seconds]
        labels = random_source.sample(DAR_EMOTIONS, len(edges) - 1)
        truth = timeline(
            [list(part) for part in zip(edges, edges[1:], labels, strict=False)], duration_seconds
        )
        clips.append(make_clip(str(index), truth, truth.to_json()))
    rows = score_clips(clips)
    assert len(rows) == sum(len(protocol.metrics) for protocol in PROTOCOLS.values())
    for row in rows:
        assert (row.mean, row.low, row.high) == pytest.approx((1.0, 1.0, 1.0), abs=1e-12), row
        assert (row.num_scored, row.num_unparsed, row.num_missing) == (200, 0, 0)


def test_a_half_that_floats_miss_still_counts() -> None:
    # 1.3 of 2.6 s, but 2.6 + 1.3 - 1.3 is a little more than 2.6.
    assert interval_iou(0.0, 2.6, 0.0, 1.3) == pytest.approx(0.5, abs=1e-12)
    truth = timeline([[0, 1.3, "Joy"], [1.3, 9, "Fear"]], 9.0)
    clip = make_clip("a", truth, reply_text([[0, 2.6, "Joy"], [2.6, 9, "Relief"]]))
    for protocol in ("paper", "strict"):
        rows = {row.metric: row.mean for row in score_clips([clip], [protocol])}
        assert rows["emo_acc"] == 0.5, protocol


def test_unknown_protocol_names_those_there_are() -> None:
    with pytest.raises(ValueError, match="no protocol called 'papr'; there are paper, released"):
        choose_protocols(["papr"])


def test_no_clips_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="no clip to score"):
        score_clips([])
