"""The label files: what the published ones hold, and every way in which they may be wrong."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.suites.tsl300.labels import read_labels
from tests.evaluation.suites.tsl300.label_files import TWO_VIDEOS, write, write_labels
from tests.paths import SHARED, needs_shared

TSL300 = SHARED / "annotations" / "TSL300"


@needs_shared
def test_the_published_files() -> None:
    labels = read_labels(TSL300)
    both = read_labels(TSL300, "videosenti_gt.json")
    assert len(labels.videos) == len(both.videos) == 300
    assert Counter(video.subset for video in labels.videos) == {"train": 200, "test": 100}
    found = Counter(
        (video.subset, segment.polarity) for video in both.videos for segment in video.segments
    )
    assert found == {
        ("train", "positive"): 600, ("train", "negative"): 458,
        ("test", "positive"): 352, ("test", "negative"): 232,
    }  # fmt: skip
    assert sum(found.values()) == 1642
    tests = {video.id: video for video in labels.subset("test")}
    assert tests == {video.id: video for video in both.subset("test")}
    assert not any(video.segments for video in labels.subset("train"))
    assert [name for name, video in tests.items() if not video.segments] == [
        "371_CMU_MOSEI_36o2cux9kfQ"
    ]
    assert tests["102_Ekman6_surprise_408"].segments[0].end_seconds == 31.199
    assert sum(video.duration_seconds for video in labels.videos) / 60 == pytest.approx(
        1291.2, abs=0.05
    )
    late = {
        subset: [
            segment.end_seconds - video.duration_seconds
            for video in both.subset(subset)
            for segment in video.segments
            if segment.end_seconds > video.duration_seconds
        ]
        for subset in ("train", "test")
    }
    assert {subset: len(ends) for subset, ends in late.items()} == {"train": 5, "test": 6}
    assert max(late["test"]) < 0.06 and max(late["train"]) < 0.094


Change = Callable[[dict[str, Any]], None]


def _first(database: dict[str, Any]) -> dict[str, Any]:
    video: dict[str, Any] = database["1_Ekman6_a"]
    return video


WRONG: list[tuple[str, Change]] = [
    ("database: an object", lambda v: v.update(database=[])),
    ("'database' is needed, not database, version", lambda v: v.update(version="1")),
    ("subset: train or test is needed, not 'val'",
     lambda v: _first(v["database"]).update(subset="val")),
    ("'subset' and 'annotations'", lambda v: _first(v["database"]).pop("subset")),
    ("annotations: a list", lambda v: _first(v["database"]).update(annotations={})),
    ("annotations[0]: label: p or n is needed, not 'P'",
     lambda v: _first(v["database"])["annotations"][0].update(label="P")),
    ("annotations[0]: label: p or n is needed, not ['p']",
     lambda v: _first(v["database"])["annotations"][0].update(label=["p"])),
    ("annotations[0]: segment: seconds as decimal text are needed, not 10.0",
     lambda v: _first(v["database"])["annotations"][0].update(segment=[10.0, "20.0"])),
    ("not 'nan'", lambda v: _first(v["database"])["annotations"][0].update(segment=["1", "nan"])),
    ("not ' 2'", lambda v: _first(v["database"])["annotations"][0].update(segment=["1", " 2"])),
    ("a start and an end", lambda v: _first(v["database"])["annotations"][0].update(segment=["1"])),
    ("segment: ends at 10.0 s, not after 20.0 s",
     lambda v: _first(v["database"])["annotations"][0].update(segment=["20.0", "10.0"])),
    ("annotations[1]: segment: begins before the one in front of it ends",
     lambda v: _first(v["database"])["annotations"][1].update(segment=["19.9", "30"])),
    ("ends at 130.2 s, its video at 130.000 s",
     lambda v: _first(v["database"])["annotations"][1].update(segment=["40", "130.2"])),
    ("len_duration_dict.json does not state its duration",
     lambda v: v["database"].update(x={"subset": "test", "annotations": []})),
    ("lacks '1_Ekman6_a'", lambda v: v["database"].pop("1_Ekman6_a")),
    ("split_test.txt: disagrees with the annotations' subset on '1_Ekman6_a'",
     lambda v: _first(v["database"]).update(subset="train")),
]  # fmt: skip


@pytest.mark.parametrize(("message", "change"), WRONG, ids=[message for message, _ in WRONG])
def test_what_is_wrong_is_named(tmp_path: Path, message: str, change: Change) -> None:
    folder = write_labels(tmp_path, TWO_VIDEOS)
    assert len(read_labels(folder).videos) == 3
    value = json.loads((folder / "gt.json").read_text())
    change(value)
    write(folder / "gt.json", value)
    with pytest.raises(ValueError) as caught:
        read_labels(folder)
    assert message in str(caught.value)
    assert str(folder) in str(caught.value)


def test_an_end_just_after_the_stated_duration_is_kept(tmp_path: Path) -> None:
    videos = {**TWO_VIDEOS, "4_Ekman6_d": ("test", 50.0, [("40.0", "50.07", "n")])}
    video = read_labels(write_labels(tmp_path, videos)).videos[3]
    assert (video.segments[0].end_seconds, video.duration_seconds) == (50.07, 50.0)


def test_files_that_disagree(tmp_path: Path) -> None:
    folder = write_labels(tmp_path, TWO_VIDEOS)
    write(folder / "time.json", {"1_Ekman6_a": 130.0, "2_Ekman6_b": 201.0})
    with pytest.raises(ValueError, match=r"time\.json: 2_Ekman6_b: the duration differs"):
        read_labels(folder)
    write(folder / "time.json", {"1_Ekman6_a": 130.0, "2_Ekman6_b": 200.0, "3_Ekman6_c": 150.0})
    with pytest.raises(ValueError, match=r"time\.json: 3_Ekman6_c: is no test video"):
        read_labels(folder)
    write(folder / "len_duration_dict.json", {"1_Ekman6_a": "130.0"})
    with pytest.raises(ValueError, match=r"1_Ekman6_a: seconds above 0 are needed, not '130\.0'"):
        read_labels(folder)
    (folder / "split_test.txt").unlink()
    (folder / "gt.json").write_text('{"database": {"a": 1, "a": 2}}')
    with pytest.raises(ValueError, match="the key 'a' is written more than once"):
        read_labels(folder)
    (folder / "gt.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="cannot be read as JSON"):
        read_labels(folder)
    with pytest.raises(ValueError, match=r"nowhere/gt\.json: is not there; --labels"):
        read_labels(Path("nowhere"))
