"""Candidates of the build's videos, from label files as VCE has them."""

import json
from pathlib import Path

import pytest

from affect.taxonomy import DAR_EMOTIONS
from data_prep.build.candidates import read_candidates, tell_unlabelled
from data_prep.build.journal import FileState
from data_prep.records import Candidates


def labels(path: Path, **top: list[str]) -> Path:
    """Per video, its three emotions rated .9, .8 and .7, all others .1."""
    records = {
        video: {
            "emotions": dict.fromkeys(DAR_EMOTIONS, 0.1)
            | dict(zip(emotions, (0.9, 0.8, 0.7), strict=True)),
            "file": f"videos/{video}.mp4",
            "topK": list(reversed(emotions)) if video.startswith("odd") else emotions,
        }
        for video, emotions in top.items()
    }
    path.write_text(json.dumps(records))
    return path


def test_without_labels_there_are_none() -> None:
    candidates_of, warnings = read_candidates(())
    assert (candidates_of("videos/1.mp4"), warnings) == (Candidates(), ())


def test_both_files_are_one_set(tmp_path: Path) -> None:
    train = labels(tmp_path / "train.json", a=["Fear", "Joy", "Awe (or Wonder)"])
    test = labels(tmp_path / "test.json", b=["Horror", "Fear", "Sadness"])
    candidates_of, warnings = read_candidates([train, test])
    assert candidates_of("videos/a.mp4").emotions == ("Fear", "Joy", "Awe (or Wonder)")
    assert candidates_of("videos/b.mp4").emotions == ("Horror", "Fear", "Sadness")
    assert candidates_of("videos/c.mp4") == Candidates()
    assert warnings == ()


def test_labels_that_contradict_themselves_are_told_of_but_not_all(tmp_path: Path) -> None:
    odd = {f"odd{n}": ["Fear", "Joy", "Horror"] for n in range(5)}
    _, warnings = read_candidates([labels(tmp_path / "labels.json", **odd)])
    assert len(warnings) == 4
    assert "odd0" in warnings[0] and warnings[-1].startswith("and 2 more")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere\.json: cannot be read"):
        read_candidates([tmp_path / "nowhere.json"])


def test_videos_without_labels_are_told_of(tmp_path: Path) -> None:
    candidates_of, _ = read_candidates(
        [labels(tmp_path / "labels.json", a=["Fear", "Joy", "Horror"])]
    )
    a, b, c = (FileState(f"videos/{name}.mp4", f"videos/{name}.mp4", 1, 1) for name in "abc")
    said: list[str] = []
    assert list(tell_unlabelled([c, a, b, b], candidates_of, said.append)) == [c, a, b, b]
    assert said == [
        "videos.labels: 2 files are not labelled there and may get any of the 27 emotions, "
        "'videos/b.mp4' for one"
    ]
    assert list(tell_unlabelled([a], candidates_of, said.append)) == [a] and len(said) == 1
    with pytest.raises(ValueError, match=r"no file under videos\.root .* 'videos/b\.mp4' for one"):
        list(tell_unlabelled([c, b], candidates_of, said.append))
