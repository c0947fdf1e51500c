"""Experts beside judges: which segments are pairs, and why the others are none."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from evaluation.human.judge_agreement import agree_with_judges
from evaluation.human.read_back import load_judges
from evaluation.human.results import RATED_COLUMNS, JudgeAgreementRow
from evaluation.human.sheets import write_study
from evaluation.human.study import StudyKey
from evaluation.judge.judgements import SegmentJudgement
from evaluation.metrics.bootstrap import Bootstrap
from evaluation.runs import load_runs
from tests.evaluation.human.studies import judged, two_segments, write_judgements, write_runs

BOOTSTRAP = Bootstrap(num_replicates=100)
SYSTEMS = ("one", "two", "three")


def make_key(root: Path, systems: tuple[str, ...] = SYSTEMS) -> StudyKey:
    clips = ("a", "b")
    runs = write_runs(root, {name: dict.fromkeys(clips, two_segments()) for name in systems})
    labels = {path: path.name for path in runs}
    return write_study(root / "study", load_runs(runs, "test", labels=labels), 2, 1)


def compare(
    key: StudyKey, means: Mapping[tuple[str, str, int], float | None]
) -> dict[tuple[str, str, str], JudgeAgreementRow]:
    """means: (system, clip, segment) -> what experts gave on all dimensions."""
    of_item = {
        item.id: dict.fromkeys(RATED_COLUMNS, means[item.system, item.row_id, item.segment])
        for item in key.items
    }
    rows = agree_with_judges(key, of_item, load_judges(key, {}), BOOTSTRAP)
    return {(row.judge, row.level, row.dimension): row for row in rows}


def all_places(systems: tuple[str, ...] = SYSTEMS) -> list[tuple[str, str, int]]:
    return [(system, clip, place) for system in systems for clip in "ab" for place in (0, 1)]


def test_segments_and_systems_by_hand(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    for number, system in enumerate(SYSTEMS):
        write_judgements(
            tmp_path / system,
            [judged(clip, place, number + place) for clip in "ab" for place in (0, 1)],
        )
    # Experts: one point above the judge throughout, so both correlate fully.
    means = {(s, c, p): SYSTEMS.index(s) + p + 1.0 for s, c, p in all_places()}
    rows = compare(key, means)
    assert len(rows) == 3 * len(RATED_COLUMNS)
    segment = rows["judge_paper.gpt-4o", "segment", "causal_logic"]
    assert segment.pearson.value == pytest.approx(1.0)
    assert segment.spearman.value == pytest.approx(1.0)
    assert segment.pearson.num == 12
    assert (segment.pearson.low, segment.pearson.high) == (pytest.approx(1.0), pytest.approx(1.0))
    system = rows["judge_paper.gpt-4o", "system", "average"]
    assert system.spearman.value == pytest.approx(1.0)
    assert system.pearson.num == 3


def test_systems_that_differ_make_no_agreement_within_them(tmp_path: Path) -> None:
    """Within a system the judge says the opposite of the experts, between them the same."""
    key = make_key(tmp_path)
    for number, system in enumerate(SYSTEMS):
        write_judgements(
            tmp_path / system,
            [judged(clip, place, 2 * number + (1 - place)) for clip in "ab" for place in (0, 1)],
        )
    rows = compare(key, {(s, c, p): 2.0 * SYSTEMS.index(s) + p for s, c, p in all_places()})
    # Means of the systems .5, 2.5, 4.5 on both sides: deviations of -2, 0, 2 and of .5 within.
    segment = rows["judge_paper.gpt-4o", "segment", "causal_logic"]
    assert segment.pearson.value == pytest.approx((8 / 3 - 0.25) / (8 / 3 + 0.25))
    within = rows["judge_paper.gpt-4o", "within_system", "causal_logic"]
    assert within.pearson.value == pytest.approx(-1.0)
    assert within.spearman.value == pytest.approx(-1.0)
    assert within.pearson.num == 12


def test_what_is_constant_within_its_system_is_no_number(tmp_path: Path) -> None:
    """A third of .1 + .1 + .1 is not .1 in binary."""
    key = make_key(tmp_path)
    for system, score in zip(SYSTEMS, (0.1, 1.0, 2.0), strict=True):
        write_judgements(tmp_path / system, [judged(c, p, score) for c in "ab" for p in (0, 1)])
    means: dict[tuple[str, str, int], float | None] = {(s, c, p): p for s, c, p in all_places()}
    means["one", "b", 1] = None
    found = compare(key, means)["judge_paper.gpt-4o", "within_system", "average"]
    assert found.pearson.reason == found.spearman.reason == "one side is constant"


def test_the_order_can_be_the_opposite(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    for number, system in enumerate(SYSTEMS):
        write_judgements(
            tmp_path / system, [judged(clip, place, number) for clip in "ab" for place in (0, 1)]
        )
    rows = compare(key, {(s, c, p): 5.0 - SYSTEMS.index(s) ** 2 for s, c, p in all_places()})
    found = rows["judge_paper.gpt-4o", "system", "visual_grounding"]
    assert found.spearman.value == pytest.approx(-1.0)
    # 5, 4, 1 against 0, 1, 2: deviations 5/3 2/3 -7/3 and -1 0 1.
    assert found.pearson.value == pytest.approx(-4 / (2 * 78 / 9) ** 0.5)


def test_what_is_no_pair_is_counted(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    gated = SegmentJudgement(
        id="a", segment=1, state="gated", scores=judged("a", 0, 0).scores, overall=0, why="filler"
    )
    unscored = SegmentJudgement(id="b", segment=0, state="unscored", scores=None, overall=None)
    write_judgements(tmp_path / "one", [judged("a", 0, 4), gated, unscored, judged("b", 1, 2)])
    whole = gated.model_copy(update={"segment": None, "weight": 2})
    write_judgements(tmp_path / "two", [whole, judged("b", 0, 5), judged("b", 1, 1)])
    # Nobody has judged three.
    means: dict[tuple[str, str, int], float | None] = dict.fromkeys(all_places(), 3.0)
    means["one", "b", 1] = 1.0
    means["two", "b", 0] = None
    row = compare(key, means)["judge_paper.gpt-4o", "segment", "causal_logic"]
    # Pairs: one a0 (3, 4), one b1 (1, 2), two b1 (3, 1).
    assert row.pearson.num == 3
    assert (row.num_gated, row.num_unscored, row.num_not_judged) == (1 + 2, 1, 4)
    assert row.num_not_rated == 1
    # Experts 3 1 3, judge 4 2 1: deviations 2/3 -4/3 2/3 and 5/3 -1/3 -4/3.
    assert row.pearson.value == pytest.approx((6 / 9) / ((24 / 9) * (42 / 9)) ** 0.5)


def test_constant_judges_and_few_systems_say_so(tmp_path: Path) -> None:
    key = make_key(tmp_path, ("one", "two"))
    for system in ("one", "two"):
        write_judgements(tmp_path / system, [judged(c, p, 3) for c in "ab" for p in (0, 1)])
    rows = compare(key, {(s, c, p): float(p) for s, c, p in all_places(("one", "two"))})
    segment = rows["judge_paper.gpt-4o", "segment", "average"]
    assert segment.pearson.value is segment.spearman.value is None
    assert segment.pearson.reason == "one side is constant"
    assert rows["judge_paper.gpt-4o", "system", "average"].pearson.reason == "fewer than 3 systems"


def test_two_judges_stand_apart(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    for system in SYSTEMS:
        judgements = [judged(c, p, p) for c in "ab" for p in (0, 1)]
        write_judgements(tmp_path / system, judgements)
        write_judgements(tmp_path / system, judgements, label="judge_hardened.qwen")
    rows = compare(key, {(s, c, p): float(p) for s, c, p in all_places()})
    assert {judge for judge, _, _ in rows} == {"judge_paper.gpt-4o", "judge_hardened.qwen"}


def test_one_judge_asked_in_two_ways_is_refused(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    judgements = [judged(c, p, p) for c in "ab" for p in (0, 1)]
    write_judgements(tmp_path / "one", judgements)
    write_judgements(tmp_path / "two", judgements, samples=3)
    with pytest.raises(ValueError, match=r"judged in another way than .* \(samples\)"):
        compare(key, dict.fromkeys(all_places(), 1.0))


def test_a_run_with_other_replies_is_refused(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    write_runs(tmp_path, {"one": dict.fromkeys(("a", "b"), two_segments("Fear", "Joy"))})
    with pytest.raises(ValueError, match="holds other replies than the experts were shown"):
        load_judges(key, {})
    (tmp_path / "one").rename(tmp_path / "moved")
    with pytest.raises(ValueError, match=r"no such run folder; say where one is with --run one="):
        load_judges(key, {})
