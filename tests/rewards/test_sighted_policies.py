"""What the policies that spoil the truth answer, literally, to clips of two segments and of one."""

import json
import math
from typing import Any

import pytest

from rewards.audit_clip import AuditClip, read_reply
from rewards.sighted_policies import SIGHTED_POLICIES
from tests.rewards.builders import TRUTH, timeline

POLICIES = {policy.name: policy for policy in SIGHTED_POLICIES}
SINGLE_TRUTH = timeline((0.0, 6.0, "Joy", "They dance and the viewer is glad with them."))
TWO = AuditClip("two", TRUTH, TRUTH.to_json(), "<video>\nSay when the feeling changes and why.")
ONE = AuditClip("one", SINGLE_TRUTH, SINGLE_TRUTH.to_json(), "")


def segments(name: str, clip: AuditClip) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(POLICIES[name].answer(clip))["segments"]
    return found


def spans(name: str, clip: AuditClip) -> list[tuple[float, float, str]]:
    return [(s["start_time"], s["end_time"], s["emotion"]) for s in segments(name, clip)]


def reasons(name: str, clip: AuditClip) -> list[str]:
    return [segment["reason"] for segment in segments(name, clip)]


def test_names_are_unique_and_all_see_the_video() -> None:
    assert len(POLICIES) == len(SIGHTED_POLICIES)
    assert all(policy.sees_video for policy in SIGHTED_POLICIES)


@pytest.mark.parametrize("name", [name for name in POLICIES if name.endswith("reasons")])
def test_policies_about_reasons_leave_times_and_labels_alone(name: str) -> None:
    assert spans(name, TWO) == [(0.0, 4.0, "Joy"), (4.0, 9.0, "Fear")]
    assert spans(name, ONE) == [(0.0, 6.0, "Joy")]
    assert reasons(name, ONE) != [SINGLE_TRUTH.segments[0].reason]


def test_reasons() -> None:
    joy, fear = (segment.reason for segment in TRUTH.segments)
    assert reasons("filler_reasons", TWO) == [" ".join(["the"] * 120), " ".join(["cat"] * 120)]
    assert reasons("label_only_reasons", TWO) == ["Joy", "Fear"]
    assert reasons("copied_reasons", TWO) == [joy, joy]
    assert reasons("swapped_reasons", TWO) == [fear, joy]
    assert sorted(reasons("disordered_reasons", TWO)[0].split()) == sorted(joy.split())
    assert reasons("prompt_copied_reasons", TWO) == ["Say when the feeling changes and why."] * 2


def test_a_clip_of_one_segment_is_spoilt_too() -> None:
    (own,) = (segment.reason for segment in SINGLE_TRUTH.segments)
    assert reasons("copied_reasons", ONE) == [f"{own} {own} {own}"]
    assert "admiration" in reasons("swapped_reasons", ONE)[0]
    assert spans("first_segment_only", ONE) == [(0.0, 3.0, "Joy")]
    assert spans("first_segment_repeated", ONE) == [(0.0, 6.0, "Joy")] * 2


def test_times_and_labels() -> None:
    assert spans("first_segment_only", TWO) == [(0.0, 4.0, "Joy")]
    assert spans("first_segment_stretched", TWO) == [(0.0, 9.0, "Joy")]
    assert spans("first_segment_repeated", TWO) == [(0.0, 4.0, "Joy")] * 2
    assert spans("extra_segment", TWO) == [
        (0.0, 4.0, "Joy"),
        (4.0, 6.5, "Fear"),
        (6.5, 9.0, "Admiration"),
    ]
    assert spans("wrong_labels", TWO) == [(0.0, 4.0, "Admiration"), (4.0, 9.0, "Adoration")]
    assert spans("lower_case_labels", TWO) == [(0.0, 4.0, "joy"), (4.0, 9.0, "fear")]
    assert all(math.isnan(start) and math.isnan(end) for start, end, _ in spans("nan_times", TWO))


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("fenced", "surrounding_text"),
        ("twice", "surrounding_text"),
        ("nan_times", "not_finite"),
        ("first_segment_only", "end"),
        ("first_segment_repeated", "overlap"),
        ("lower_case_labels", "emotion"),
    ],
)
def test_invalid_answers_have_their_own_fault_first(name: str, fault: str) -> None:
    parsed = read_reply(POLICIES[name].answer(TWO), TWO)
    assert parsed.faults[0].split(":")[0] == fault
