"""Studies: a random sample of videos, every segment once, and nothing that tells systems apart."""

import hashlib
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest

from evaluation.human.questions import FORM
from evaluation.human.sheets import describe, write_study
from evaluation.human.study import StudyKey, sample_videos
from evaluation.runs import load_runs
from tests.evaluation.files import reply
from tests.evaluation.human.studies import read_lines, two_segments, write_runs


def study(root: Path, num_videos: int, num_experts: int = 5, systems: int = 3) -> StudyKey:
    clips = [f"clip-{number}" for number in range(num_videos)]
    names = [f"secret-{number}" for number in range(systems)]
    runs = write_runs(root, {name: {clip: two_segments() for clip in clips} for name in names})
    return write_study(root / "study", load_runs(runs, "test", labels={}), num_videos, num_experts)


def test_the_sample_is_random_and_does_not_depend_on_the_order() -> None:
    ids = [f"clip-{number}" for number in range(200)]
    sample = sample_videos(ids, 100, seed=0)
    assert len(set(sample)) == 100
    assert sample == sample_videos(ids[::-1], 100, seed=0) == sorted(sample)
    assert sample != sample_videos(ids, 100, seed=1)
    # A larger sample of the same seed holds the smaller one.
    assert set(sample) > set(sample_videos(ids, 50, seed=0))
    drawn = Counter(one for seed in range(300) for one in sample_videos(ids[:4], 2, seed))
    # Each of four is drawn in half of the samples: 150 with a standard deviation of 8.7.
    assert all(100 < count < 200 for count in drawn.values())
    for number in (0, 201):
        with pytest.raises(ValueError, match=f"--videos {number}: from 1 to 200 can be sampled"):
            sample_videos(ids, number, seed=0)


def test_every_expert_rates_everything_blind(tmp_path: Path) -> None:
    key = study(tmp_path, 6)
    assert key.experts == ("expert_1", "expert_2", "expert_3", "expert_4", "expert_5")
    assert len(key.items) == 6 * 3 * 2
    folder = tmp_path / "study"
    orders = set()
    for expert in key.experts:
        lines = read_lines(folder / f"{expert}.csv")
        assert sorted(line["item"] for line in lines) == sorted(item.id for item in key.items)
        assert {line["expert"] for line in lines} == {expert}
        orders.add(tuple(line["item"] for line in lines))
        # Videos stay together, answers within them too, and segments are in time.
        assert len(list(groupby(lines, key=lambda line: line["video"]))) == 6
        assert [line["answer"] for line in lines] == ["1 of 3"] * 2 + ["2 of 3"] * 2 + [
            "3 of 3"
        ] * 2 + [line["answer"] for line in lines[6:]]
        assert [line["segment"] for line in lines] == ["1 of 2", "2 of 2"] * 18
        for end in ("csv", "html"):
            assert "secret" not in (folder / f"{expert}.{end}").read_text(encoding="utf-8-sig")
    assert len(orders) == 5


def test_item_ids_say_neither_system_nor_video(tmp_path: Path) -> None:
    key = study(tmp_path, 4)
    assert len({item.id for item in key.items}) == len(key.items)
    for item in key.items:
        assert len(item.id) == 13 and item.id[0] == "i" and int(item.id[1:], 16) >= 0
        told = (item.system, item.row_id, f"{item.system}/{item.row_id}")
        hashes = [hashlib.sha256(text.encode()).hexdigest()[:6] for text in told]
        assert not any(one in item.id for one in (*told, *hashes))


def test_systems_change_places(tmp_path: Path) -> None:
    key = study(tmp_path, 40, num_experts=3)
    system_of = {item.id: item.system for item in key.items}
    places = Counter(
        (system_of[line["item"]], line["answer"])
        for expert in key.experts
        for line in read_lines(tmp_path / "study" / f"{expert}.csv")
        if line["segment"] == "1 of 2"
    )
    # 120 draws of three places: 40 each, with a standard deviation of 5.2.
    assert len(places) == 9
    assert all(20 < count < 60 for count in places.values()), places


def test_what_cannot_be_rated_is_counted(tmp_path: Path) -> None:
    replies = {
        "good": {"a": two_segments(), "b": two_segments(), "c": reply([[0, 8, "Joy"]])},
        "bad": {"a": None, "b": "no idea", "c": '{"segments": []}'},
    }
    runs = load_runs(write_runs(tmp_path, replies), "test", labels={tmp_path / "bad": "Bad"})
    key = write_study(tmp_path / "study", runs, 3, 2)
    statuses = {(one.system, one.row_id): one.status for one in key.answers}
    assert statuses["Bad", "a"] == "missing"
    assert statuses["Bad", "b"] == statuses["Bad", "c"] == "unparsed"
    assert {item.system for item in key.items} == {runs[0].label}
    lines = read_lines(tmp_path / "study" / "expert_1.csv")
    assert {line["answer"] for line in lines} == {"1 of 1"}
    told = describe(key).splitlines()
    assert told[0] == "5 segments of 3 videos by 2 systems: 25 ratings for each of 2 experts"
    assert "0 segments of 0 videos" in told[2]
    assert told[2].endswith("nothing to rate in 2 unparsed and 1 missing replies")


def test_segments_are_those_that_judges_number(tmp_path: Path) -> None:
    """Overlaps, wrong order and unknown emotions are rated as they were written."""
    broken = reply([[4, 20, "Glee"], [-1, 5, "Joy"], [2, 1, "Fear"]])
    runs = load_runs(write_runs(tmp_path, {"one": {"a": broken}}), "test", labels={})
    key = write_study(tmp_path / "study", runs, 1, 1)
    assert [(item.segment, item.emotion, item.end_seconds) for item in key.items] == [
        (0, "Glee", 20.0),
        (1, "Joy", 5.0),
        (2, "Fear", 1.0),
    ]
    page = (tmp_path / "study" / "expert_1.html").read_text(encoding="utf-8")
    # What is drawn and played lies within the video.
    assert 'data-start="4.0" data-end="8.0"' in page
    assert 'data-start="0.0" data-end="5.0"' in page
    assert 'data-start="2.0" data-end="2.0"' in page
    assert "-1.0 to 5.0 s" in page


def test_equal_inputs_give_equal_files_and_none_is_overwritten(tmp_path: Path) -> None:
    runs = load_runs(write_runs(tmp_path, {"one": {"a": two_segments()}}), "test", labels={})
    write_study(tmp_path / "study", runs, 1, 2)
    write_study(tmp_path / "again", runs, 1, 2)
    for path in (tmp_path / "study").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
    with pytest.raises(ValueError, match="study: holds human evaluation sheets already"):
        write_study(tmp_path / "study", runs, 1, 2)


def test_what_no_study_can_be_made_of(tmp_path: Path) -> None:
    folders = write_runs(tmp_path, {"one": {"a": "no idea", "b": None}})
    runs = load_runs(folders, "test", labels={})
    with pytest.raises(ValueError, match="none of the 2 replies holds a segment"):
        write_study(tmp_path / "study", runs, 2)
    with pytest.raises(ValueError, match="--videos 3: from 1 to 2"):
        write_study(tmp_path / "study", runs, 3)
    with pytest.raises(ValueError, match="experts: 1 or more are needed, not 0"):
        write_study(tmp_path / "study", runs, 2, 0)
    folders = write_runs(tmp_path, {"one": {"a": two_segments()}})
    (tmp_path / "videos" / "a.mp4").unlink()
    with pytest.raises(ValueError, match=r"row 'a': video: there is no file .*a\.mp4"):
        write_study(tmp_path / "study", load_runs(folders, "test", labels={}), 1)
    assert not (tmp_path / "study").exists()


def test_a_study_can_take_its_videos_along(tmp_path: Path) -> None:
    replies = {"one": {"a b": two_segments(), "c": two_segments()}}
    runs = load_runs(write_runs(tmp_path, replies), "test", labels={})
    write_study(tmp_path / "study", runs, 2, 1, copy_videos=True)
    assert (tmp_path / "study" / "clips" / "videos" / "a b.mp4").read_bytes() == b"a clip"
    page = (tmp_path / "study" / "expert_1.html").read_text(encoding="utf-8")
    assert 'src="./clips/videos/a%20b.mp4"' in page


def test_the_form_asks_what_the_judges_are_asked() -> None:
    assert FORM.columns == (
        "expert", "item", "video", "answer", "segment", "start_seconds", "end_seconds", "emotion",
        "reason", "visual_grounding", "causal_logic", "viewer_centricity", "temporal_consistency",
        "answer_consistency", "comment",
    )  # fmt: skip
    assert FORM.ratings == (0, 1, 2, 3, 4, 5)
    assert FORM.hints is not None and set(FORM.hints) == set(FORM.questions)
