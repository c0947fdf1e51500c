"""Groups of clips: which clip is where, and each group's metrics."""

import pytest
from hypothesis import given, settings

from evaluation.analysis.analyse import analyse
from evaluation.analysis.breakdowns import MAX_TAGS, OTHER_TAGS, UNTAGGED, groupings
from evaluation.analysis.document import Group
from evaluation.clips import Truth
from evaluation.metrics import PROTOCOLS, Bootstrap, make_clip, score_clips
from tests.evaluation.analysis.drawn import Written, load, truth_of, written_clips

FEW = Bootstrap(num_replicates=20)


def sizes(truths: list[Truth]) -> dict[str, dict[str, int]]:
    return {
        by: {name: sum(members) for name, members in groups.items()}
        for by, groups in groupings(truths)
    }


def lasting(seconds: float, **extra: object) -> Truth:
    return truth_of(f"{seconds}", [[0, seconds, "Joy"]], **extra)


def test_durations_begin_with_their_first_number_in_order_of_length() -> None:
    truths = [lasting(seconds) for seconds in (30.0, 4.9, 5.0, 9.9, 10.0, 14.9, 15, 20, 29.9, 300)]
    found = sizes(truths)["duration"]
    assert found == {
        "under 5 s": 1,
        "5-10 s": 2,
        "10-15 s": 2,
        "15-20 s": 1,
        "20-30 s": 2,
        "30 s or more": 2,
    }
    assert list(found) == list(sizes(truths[::-1])["duration"])


def test_numbers_of_segments() -> None:
    labels = ["Joy", "Fear"] * 4
    truths = [
        truth_of(str(n), [[k, k + 1, labels[k]] for k in range(n)]) for n in (1, 2, 2, 5, 6, 8)
    ]
    assert sizes(truths)["num_segments"] == {"1": 1, "2": 2, "5": 1, "6 or more": 2}


def test_tags_are_sorted_and_the_untagged_come_last() -> None:
    truths = [
        lasting(1, genre="Sports", scene="outdoor"),
        lasting(2, genre=" "),
        lasting(3, genre="Animals", scene=7),
        lasting(4, genre="Animals"),
    ]
    found = sizes(truths)
    assert list(found["genre"].items()) == [("Animals", 2), ("Sports", 1), (UNTAGGED, 1)]
    assert list(found["scene"].items()) == [("outdoor", 1), (UNTAGGED, 3)]


def test_as_many_tags_as_clips_do_not_make_as_many_groups() -> None:
    truths = [lasting(1 + n / 10, scene=f"place {n % 50}") for n in range(75)]
    found = sizes(truths)["scene"]
    assert len(found) == MAX_TAGS + 1 and sum(found.values()) == 75
    # The 25 places that come twice are kept, then the first by name.
    assert found[OTHER_TAGS] == 20 and found["place 24"] == 2 and "place 49" not in found


def test_metrics_of_a_group_are_those_of_its_clips_alone() -> None:
    two = [[0, 4, "Joy"], [4, 8, "Fear"]]
    written: list[Written] = [
        ("a", two, two),
        ("b", two, "no"),
        ("c", [[0, 12, "Joy"]], [[0, 12, "Fear"]]),
        ("d", [[0, 12, "Joy"]], None),
    ]
    truths, clips = load(written)
    for name, protocol in PROTOCOLS.items():
        (breakdown,) = [
            one for one in analyse(truths, clips, name, FEW).breakdowns if one.by == "duration"
        ]
        short, long = breakdown.groups
        assert (short.name, short.num_clips, short.num_scored, short.num_unparsed) == (
            "5-10 s", 2, 1, 1,
        )  # fmt: skip
        assert (long.num_clips, long.num_scored, long.num_missing) == (2, 1, 1)
        for group, members in ((short, clips[:2]), (long, clips[2:])):
            alone = {row.metric: row.mean for row in score_clips(members, [name], FEW)}
            assert {metric: share.mean for metric, share in group.metrics.items()} == alone
        assert list(short.metrics) == list(protocol.metrics)


def test_a_group_s_interval_comes_from_draws_of_all_clips() -> None:
    """Half of the group's clips are right; draws without any of them have no value."""
    spans = {"long": [[0, 12, "Joy"]], "short": [[0, 6, "Joy"]]}
    written: list[Written] = [
        (str(n), spans["long" if n < 2 else "short"], [[0, 12 if n < 2 else 6, "Joy"]])
        for n in range(20)
    ]
    truths, clips = load(written)
    clips[0] = make_clip("0", truths[0].timeline, "no")
    found = analyse(truths, clips, "strict", Bootstrap(500)).breakdowns[0]
    groups: dict[str, Group] = {group.name: group for group in found.groups}
    share = groups["10-15 s"].metrics["sc_acc"]
    assert (share.mean, share.numerator, share.denominator) == (0.5, 1, 2)
    assert (share.low, share.high) == (0.0, 1.0)
    assert groups["5-10 s"].metrics["sc_acc"].low == pytest.approx(1.0)


@given(written_clips())
@settings(max_examples=20, deadline=None)
def test_groups_add_up_to_the_clips(written: list[Written]) -> None:
    truths, clips = load(written)
    for name in PROTOCOLS:
        document = analyse(truths, clips, name, FEW)
        whole = {row.metric: row for row in score_clips(clips, [name], FEW)}
        for breakdown in document.breakdowns:
            assert sum(group.num_clips for group in breakdown.groups) == len(clips)
            for group in breakdown.groups:
                counts = (group.num_scored, group.num_unparsed, group.num_missing)
                assert sum(counts) == group.num_clips > 0
            above = sum(group.metrics["emo_acc"].numerator for group in breakdown.groups)
            below = sum(group.metrics["emo_acc"].denominator for group in breakdown.groups)
            assert (above / below if below else None) == whole["emo_acc"].mean
