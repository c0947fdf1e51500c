"""The audit: its bounds on the shipped rows, its figures by hand, its command and its page."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from affect.records import prompt_from_text, write_grpo_rows, write_sft_rows
from affect.row import Row
from affect.timeline import Timeline, segments_to_json
from rewards import RewardSet
from rewards.audit import SHIPPED_ROWS, audit, audit_policies, main, mean_scores, table
from rewards.audit_clip import AuditClip, Policy, read_clips
from rewards.constant_reply import best_constant
from rewards.constants import TERMS
from rewards.sighted_policies import SIGHTED_POLICIES
from tests.paths import ROOT, SHARED, needs_shared
from tests.rewards.builders import TRUTH, timeline

HARDENED, PAPER = RewardSet.from_preset("hardened"), RewardSet.from_preset("paper")
BLIND_BOUND = 0.45
WORTHLESS_REASONS = {
    "filler_reasons",
    "filler_label_repeated",
    "filler_unspecific",
    "label_only_reasons",
    "copied_reasons",
    "prompt_copied_reasons",
}
INVALID = {
    "empty", "no_answer", "best_doubled_segment", "first_segment_repeated", "first_segment_only",
    "nan_times", "fenced", "twice", "lower_case_labels",
}  # fmt: skip
BLIND = {
    "empty", "no_answer", "one_segment_commonest_label", "uniform_2_commonest_labels",
    "uniform_3_commonest_labels", "uniform_4_commonest_labels", "uniform_5_commonest_labels",
    "tiny_segments", "random_from_prior", "another_clips_truth", "best_constant",
    "best_per_duration", "best_doubled_segment",
}  # fmt: skip

SHIPPED = read_clips(SHIPPED_ROWS)


@pytest.fixture(scope="module")
def hardened_policies() -> list[Policy]:
    return audit_policies(SHIPPED, HARDENED)


@pytest.fixture(scope="module")
def hardened(hardened_policies: list[Policy]) -> dict[str, Any]:
    return audit(SHIPPED, HARDENED, hardened_policies)


def row(row_id: str, truth: Timeline | None, duration_seconds: float = 9.0) -> Row:
    return Row(
        id=row_id,
        video=f"{row_id}.mp4",
        duration_seconds=duration_seconds,
        source=None,
        prompt=prompt_from_text("<video>\nSegment this silent video."),
        timeline=truth,
    )


# --- the bounds ---


def test_the_truth_earns_exactly_one(hardened: dict[str, Any]) -> None:
    assert hardened["gold"] == {"total": 1.0, "terms": dict.fromkeys(TERMS, 1.0)}


def test_which_policies_are_played_and_which_see_the_video(hardened: dict[str, Any]) -> None:
    blind = {name for name, earned in hardened["policies"].items() if not earned["sees_video"]}
    assert blind == BLIND
    sighted = set(hardened["policies"]) - BLIND
    assert sighted == {policy.name for policy in SIGHTED_POLICIES}


def test_no_policy_without_the_video_earns_more_than_the_bound(hardened: dict[str, Any]) -> None:
    earned = {name: hardened["policies"][name]["total"] for name in BLIND}
    assert max(earned.values()) <= BLIND_BOUND, earned
    # The bound means something because the best replies were searched for.
    best = max(earned, key=earned.__getitem__)
    assert best == "best_per_duration"
    assert earned["best_constant"] >= max(earned[name] for name in BLIND if name[:5] != "best_")
    # The search finds at least this much on these rows; less would be a broken search.
    assert earned["best_constant"] > 0.38 and earned["best_per_duration"] > 0.40


def test_without_the_video_reasons_are_paid_on_right_segments_only(
    hardened: dict[str, Any],
) -> None:
    for name in BLIND:
        terms = hardened["policies"][name]["terms"]
        assert terms["reason"] <= terms["emo"], name


def test_filler_and_copies_earn_nothing_on_the_reasoning_term(hardened: dict[str, Any]) -> None:
    for name in WORTHLESS_REASONS:
        assert hardened["policies"][name]["terms"]["reason"] == 0.0, name
        # 120 times a long label is more than 1,200 tokens.
        assert hardened["policies"][name]["total"] == pytest.approx(0.85, abs=1e-4)


def test_what_is_not_valid_earns_nothing(hardened: dict[str, Any]) -> None:
    for name in INVALID:
        assert hardened["policies"][name]["total"] == 0.0, name


def test_nothing_beats_the_truth_and_two_limits_are_known(hardened: dict[str, Any]) -> None:
    """Whether a reason is true of the picture, or in order, can't be seen here."""
    full = {name for name, earned in hardened["policies"].items() if earned["total"] >= 1.0}
    assert full == {"stock_reasons", "disordered_reasons"}
    assert all(hardened["policies"][name]["total"] == 1.0 for name in full)


def test_hardened_pays_no_policy_more_than_paper_but_for_its_own_reasons() -> None:
    """The truth's own reasons, short here, are marked down by `paper`; other terms are compared."""
    some = SHIPPED[:60]
    for policy in SIGHTED_POLICIES:
        paper = mean_scores(policy, some, PAPER)["terms"]
        hardened = mean_scores(policy, some, HARDENED)["terms"]
        for term in ("struct", "count", "seg"):
            assert hardened[term] <= paper[term] + 1e-9, (policy.name, term)


def test_where_the_count_is_known_guessing_earns_more() -> None:
    """The bound belongs to the rows too: count is then 1 for everybody. `docs/rewards.md`: .54."""
    clips = [clip for clip in SHIPPED if len(clip.truth.segments) == 2]
    constant = best_constant(clips, HARDENED)
    policy = Policy(
        "constant",
        False,
        "",
        lambda clip: segments_to_json(constant.segments(clip.duration_seconds)),
    )
    earned = mean_scores(policy, clips, HARDENED)
    assert (len(clips), earned["terms"]["count"]) == (90, 1.0)
    assert earned["total"] == pytest.approx(0.543, abs=0.001)


# --- figures by hand ---


def test_figures_of_one_clip_by_hand() -> None:
    """[0, 4] Joy, [4, 9] Fear with reasons of 120 words; weights .10 .25 .25 .25 .15."""
    clip = AuditClip("a", TRUTH, TRUTH.to_json(), "")
    by_name = {policy.name: policy for policy in SIGHTED_POLICIES}

    def earned(name: str, rewards: RewardSet) -> list[float]:
        scores = mean_scores(by_name[name], [clip], rewards)
        return [*scores["terms"].values(), scores["total"]]

    assert earned("fenced", PAPER) == pytest.approx([0.5, 1, 1, 1, 1, 0.95])
    assert earned("nan_times", PAPER) == pytest.approx([0.3, 0, 0, 0, 0, 0.03])
    assert earned("filler_reasons", PAPER) == pytest.approx([1, 1, 1, 1, 1, 1])
    assert earned("filler_reasons", HARDENED) == pytest.approx([1, 1, 1, 1, 0, 0.85])
    assert earned("wrong_labels", HARDENED) == pytest.approx([1, 1, 1, 0, 0, 0.6])
    # [0, 9] Joy goes with [4, 9] Fear (IoU 5/9, 4 s of 5 s off), so the label is wrong.
    count, seg = math.exp(-1 / 1.5), (5 / 18 + math.exp(-4 / 1.0) / 2) / 2
    assert earned("first_segment_stretched", HARDENED) == pytest.approx(
        [1, count, seg, 0, 0, 0.1 + 0.25 * count + 0.25 * seg]
    )


def test_policies_without_the_video_by_hand() -> None:
    """Two clips of 10 s: [0, 5] Joy, [5, 10] Fear, and the same with Anger in place of Fear."""
    joy, fear = (
        "They dance, joyful and light, to loud music.",
        "A dark shadow frightens them badly.",
    )
    anger = "An angry man shouts at the referee."
    first = timeline((0.0, 5.0, "Joy", joy), (5.0, 10.0, "Fear", fear))
    second = timeline((0.0, 5.0, "Joy", joy), (5.0, 10.0, "Anger", anger))
    clips = [AuditClip("a", first, first.to_json(), ""), AuditClip("b", second, "", "")]
    clips[1] = AuditClip("b", second, second.to_json(), "")
    policies = audit_policies(clips, HARDENED)
    found = audit(clips, HARDENED, policies)["policies"]
    # Joy over all: matched with the first half (IoU .5, 5 s off, a decay of 1 s), the right label.
    count, seg = math.exp(-1 / 1.5), (0.25 + math.exp(-5) / 2) / 2
    assert found["one_segment_commonest_label"]["terms"] == pytest.approx(
        {"struct": 1, "count": count, "seg": seg, "emo": 0.5, "reason": 0.5}
    )
    # Both halves, Joy, and what comes first of Fear and Anger: right in 3 of 4 places.
    assert found["uniform_2_commonest_labels"]["terms"] == pytest.approx(
        {"struct": 1, "count": 1, "seg": 1, "emo": 0.75, "reason": 0.75}
    )
    assert found["best_constant"] == found["uniform_2_commonest_labels"]
    # Each has the other's truth: Joy is right, the second label is not.
    assert found["another_clips_truth"]["terms"] == pytest.approx(
        {"struct": 1, "count": 1, "seg": 1, "emo": 0.5, "reason": 0.5}
    )
    # 20 segments of half a second: IoU .1 with their half, two of 20 paired.
    tiny = found["tiny_segments"]["terms"]
    assert tiny["count"] == pytest.approx(math.exp(-18 / 1.5), abs=1e-9)
    assert tiny["seg"] == pytest.approx(2 * (0.05 + math.exp(-4.5) / 2) / 20)
    assert found["empty"] == {
        "total": 0.0,
        "terms": dict.fromkeys(TERMS, 0.0),
        "sees_video": False,
    }


def test_policies_without_the_video_do_not_use_a_clips_own_truth(
    hardened_policies: list[Policy],
) -> None:
    """Two clips that differ in nothing but their truth get the same answers."""
    other = timeline((0.0, 9.0, "Boredom", "Nothing moves on the grey wall, which is dull."))
    clips = [AuditClip("new", truth, truth.to_json(), "") for truth in (TRUTH, other)]
    for policy in hardened_policies:
        first, second = (policy.answer(clip) for clip in clips)
        assert (first != second) is policy.sees_video, policy.name


def test_answers_are_the_same_at_every_call(hardened_policies: list[Policy]) -> None:
    for policy in hardened_policies:
        assert policy.answer(SHIPPED[0]) == policy.answer(SHIPPED[0]), policy.name


# --- the command ---


def test_json_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.jsonl"
    write_grpo_rows(rows, [row("a", TRUTH), row("b", TRUTH)])
    assert main(["--preset", "paper", "--annotations", str(rows), "--json"]) == 0
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert set(report) == {"preset", "gold", "policies"}
    assert report["preset"] == "paper"
    assert report["gold"] == {"total": 1.0, "terms": dict.fromkeys(TERMS, 1.0)}
    assert set(report["policies"]) >= BLIND | WORTHLESS_REASONS
    for earned in report["policies"].values():
        assert set(earned) == {"total", "terms", "sees_video"}
        assert list(earned["terms"]) == list(TERMS)
        assert isinstance(earned["sees_video"], bool)
        weighted = sum(
            weight * earned["terms"][term]
            for term, weight in zip(TERMS, (0.1, 0.25, 0.25, 0.25, 0.15), strict=True)
        )
        assert earned["total"] == pytest.approx(weighted, abs=1e-8)
    assert "2 clips are few" in printed.err


def test_constants_can_be_fitted_to_other_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored, fitted = tmp_path / "scored.jsonl", tmp_path / "fitted.jsonl"
    write_sft_rows(scored, [row("a", TRUTH)])
    write_sft_rows(fitted, [row("b", timeline((0.0, 9.0, "Anger", "He shouts, angry, at a dog.")))])
    arguments = ["--annotations", str(scored), "--json"]
    assert main([*arguments, "--fit", str(fitted)]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["policies"]["best_constant"]["terms"]["emo"] == 0.0
    assert "few" not in printed.err
    assert main(arguments) == 0
    by_heart = json.loads(capsys.readouterr().out)
    assert by_heart["policies"]["best_constant"]["total"] == 1.0


def test_table_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.jsonl"
    write_sft_rows(rows, [row("a", TRUTH)])
    assert main(["--annotations", str(rows)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| under hardened ")
    assert lines[2].startswith("| gold ") and "1.000 |" in lines[2]
    assert len(lines) == 3 + len(BLIND) + len(SIGHTED_POLICIES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no row in it"),
        ("{nonsense\n", ":1: not JSON"),
        ('{"id": "a"}\n', ":1: "),
    ],
)
def test_files_that_are_no_rows(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(text)
    assert main(["--annotations", str(rows)]) == 2
    error = capsys.readouterr().err
    assert f"rewards.audit: {rows}" in error and message in error and error.count("\n") == 1


def test_a_row_without_an_answer_is_named_by_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    write_sft_rows(rows, [row("a", TRUTH), row("b", None)])
    rows.write_text("\n" + rows.read_text())
    assert main(["--annotations", str(rows)]) == 2
    assert f"{rows}:3: conversations: row 'b' has no answer" in capsys.readouterr().err


def test_an_answer_that_is_no_timeline_is_named_by_line_and_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    write_sft_rows(rows, [row("a", TRUTH)])
    rows.write_text(rows.read_text().replace('\\"end_time\\": 9.0', '\\"end_time\\": 8.0'))
    assert main(["--fit", str(rows), "--annotations", str(SHIPPED_ROWS)]) == 2
    assert f"{rows}:1: conversations[1].value: not a timeline: end:" in capsys.readouterr().err


def test_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--annotations", str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err


def test_help_shows_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "(default: hardened)" in text
    assert "(default: the rows shipped with the project)" in text


@needs_shared
def test_real_annotations_give_the_truth_full_marks() -> None:
    clips = read_clips(SHARED / "videos" / "real.jsonl")
    report = audit(clips, HARDENED, SIGHTED_POLICIES)
    assert report["gold"]["total"] == 1.0
    for name in WORTHLESS_REASONS:
        assert report["policies"][name]["terms"]["reason"] == 0.0, name


# --- the page ---


def table_in_docs(preset: str) -> str:
    page = (ROOT / "docs" / "rewards.md").read_text(encoding="utf-8")
    begin = f"<!-- python -m rewards.audit --preset {preset} -->\n"
    assert page.count(begin) == 1
    return page.partition(begin)[2].partition("<!-- end -->")[0]


def test_the_page_shows_what_the_command_prints_for_hardened(
    hardened: dict[str, Any], hardened_policies: list[Policy]
) -> None:
    assert table_in_docs("hardened") == table(hardened, hardened_policies)


def test_the_page_shows_what_policies_that_see_the_video_earn_under_paper() -> None:
    """The others take a search of several seconds under `paper`; the slow test has them all."""
    printed = table(audit(SHIPPED, PAPER, SIGHTED_POLICIES), SIGHTED_POLICIES)
    shown = {line.strip() for line in table_in_docs("paper").splitlines()}
    for line in printed.splitlines()[3:]:
        cells = [cell.strip() for cell in line.split("|")]
        assert cells in [[cell.strip() for cell in other.split("|")] for other in shown]


@pytest.mark.slow
def test_the_page_shows_what_the_command_prints_for_paper(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--preset", "paper"]) == 0
    assert table_in_docs("paper") == capsys.readouterr().out
