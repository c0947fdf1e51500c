"""VCE's label files: three emotions a video, and what is wrong named by file, id and field."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from affect.taxonomy import DAR_EMOTIONS
from data_prep.records import Candidates
from data_prep.vce import VceLabels, candidates_for, read_vce_labels, strongest
from tests.paths import SHARED, needs_shared


def record(number: int, top_k: list[str] | None = None, **felt: float) -> dict[str, Any]:
    emotions = dict.fromkeys(DAR_EMOTIONS, 0.0) | {
        name.replace("_", " "): value for name, value in felt.items()
    }
    made: dict[str, Any] = {"emotions": emotions, "file": f"videos/{number:05d}.mp4"}
    if top_k is not None:
        made["topK"] = top_k
    return made


def write(path: Path, records: Any) -> Path:
    path.write_text(records if isinstance(records, str) else json.dumps(records))
    return path


def read(folder: Path, *files: Any) -> VceLabels:
    return read_vce_labels(
        [write(folder / f"{number}.json", records) for number, records in enumerate(files)]
    )


@needs_shared
def test_the_real_record() -> None:
    labels = read_vce_labels([SHARED / "annotations" / "VCE" / "train_labels.one_real_record.json"])
    expected = Candidates(emotions=("Admiration", "Adoration", "Awe (or Wonder)"))
    for video in ("videos/00000.mp4", "00000.mp4", "clips/00000.webm"):
        assert candidates_for(labels, video) == expected
    assert candidates_for(labels, "00001.mp4") == Candidates()
    assert labels.mismatches == ()


def test_train_and_test_are_one_set(tmp_path: Path) -> None:
    labels = read(
        tmp_path,
        {"00000": record(0, Joy=0.5, Fear=0.25, Relief=0.75)},
        {"00007": record(7, Boredom=0.1, Calmness=0.2, Sexual_Desire=0.3)},
    )
    assert candidates_for(labels, "videos/00000.mp4").emotions == ("Relief", "Joy", "Fear")
    assert candidates_for(labels, "00007.mp4").emotions == ("Sexual Desire", "Calmness", "Boredom")
    assert candidates_for(labels, "videos/00000.mp4/other.mp4") == Candidates()


def test_the_file_is_asked_before_the_name(tmp_path: Path) -> None:
    odd = record(0, Joy=0.5) | {"file": "b/00001.mp4"}
    labels = read(tmp_path, {"00000": odd, "00001": record(1, Fear=0.5)})
    assert candidates_for(labels, "b/00001.mp4").emotions == ("Joy",)
    assert candidates_for(labels, "a/00001.mp4").emotions == ("Fear",)


def test_ties_go_by_name_and_nothing_felt_is_none() -> None:
    felt = dict.fromkeys(DAR_EMOTIONS, 0.0)
    tied = felt | {"Surprise": 0.2, "Joy": 0.2, "Anger": 0.2, "Fear": 0.2, "Relief": 0.5}
    assert strongest(tied) == ("Relief", "Anger", "Fear")
    assert strongest(felt | {"Joy": 0.1}) == ("Joy",)
    assert strongest(felt) == ()


def test_awe_has_two_spellings(tmp_path: Path) -> None:
    short = record(0, ["Awe", "Joy", "Fear"], Joy=0.2, Fear=0.1)
    short["emotions"].pop("Awe (or Wonder)")
    short["emotions"]["Awe"] = 0.9
    labels = read(tmp_path, {"00000": short})
    assert candidates_for(labels, "00000.mp4").emotions == ("Awe (or Wonder)", "Joy", "Fear")
    assert labels.mismatches == ()
    both = copy.deepcopy(short)
    both["emotions"]["Awe (or Wonder)"] = 0.9
    with pytest.raises(ValueError, match=r"'00000': emotions: .* twice, under two spellings"):
        read(tmp_path, {"00000": both})


@pytest.mark.parametrize(
    ("top_k", "mismatch"),
    [
        (["Joy", "Fear", "Anger"], None),
        (["Joy", "Anger", "Fear"], None),  # Fear and Anger are tied
        (["Joy", "Fear", "Surprise"], None),  # and so is Surprise
        (["Fear", "Joy", "Anger"], "Fear, Joy, Anger, but by the intensities it is Joy, Anger, F"),
        (["Joy", "Fear", "Relief"], "Joy, Fear, Relief, but by"),
        (["Joy", "Fear"], "are not 3 emotions"),
        (["Joy", "Joy", "Fear"], "are not 3 emotions"),
        (["Joy", "Fear", "Happiness"], "none of the 27"),
    ],
)
def test_top_k_is_compared(tmp_path: Path, top_k: list[str], mismatch: str | None) -> None:
    labels = read(tmp_path, {"00000": record(0, top_k, Joy=0.5, Fear=0.2, Anger=0.2, Surprise=0.2)})
    assert candidates_for(labels, "00000.mp4").emotions == ("Joy", "Anger", "Fear")
    if mismatch is None:
        assert labels.mismatches == ()
    else:
        (text,) = labels.mismatches
        assert text.startswith(f"{tmp_path / '0.json'}: '00000': topK: ")
        assert mismatch in text


def changed(path: str, value: Any) -> dict[str, Any]:
    """The file {"00000": ...} with one thing in it set, or taken away (`...`)."""
    records: dict[str, Any] = {"00000": record(0, ["Joy", "Fear", "Anger"], Joy=0.5)}
    *parents, last = path.split("/")
    inner = records
    for parent in parents:
        inner = inner[parent]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return records


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("00000", 3, "an object is needed"),
        ("00000/emotions", ..., "emotions: an object with the 27"),
        ("00000/emotions", [], "emotions: an object with the 27"),
        ("00000/emotions/Joy", ..., "emotions: Joy: missing; all 27"),
        ("00000/emotions/Happiness", 0.5, "emotions: 'Happiness': is none of the 27"),
        ("00000/emotions/joy", 0.5, "emotions: 'joy': is none of the 27"),
        ("00000/emotions/Joy", float("nan"), "emotions: 'Joy': an intensity from 0 to 1"),
        ("00000/emotions/Joy", float("inf"), "emotions: 'Joy': an intensity"),
        ("00000/emotions/Joy", 1.01, "emotions: 'Joy': an intensity"),
        ("00000/emotions/Joy", -0.1, "emotions: 'Joy': an intensity"),
        ("00000/emotions/Joy", True, "emotions: 'Joy': an intensity"),
        ("00000/emotions/Joy", "0.5", "emotions: 'Joy': an intensity"),
        ("00000/emotions/Joy", None, "emotions: 'Joy': an intensity"),
        ("00000/emotions/Joy", 10**400, "emotions: 'Joy': an intensity"),
        ("00000/file", ..., "file: is missing"),
        ("00000/file", 7, "file: a path"),
        ("00000/file", "", "file: .* is no path"),
        ("00000/file", "/etc/passwd", "file: .* is absolute"),
        ("00000/file", "../../secret.mp4", r"file: .* climbs out"),
        ("00000/file", "C:/a.mp4", "file: .* is absolute"),
        ("00000/file", "videos\\00000.mp4", "file: .* backslash"),
        ("00000/file", "videos/\x000.mp4", "file: .* is no path"),
        ("00000/file", "http://host/a.mp4", "file: .* is an address"),
        ("00000/topK", "Joy", "topK: a list of emotions"),
        ("00000/topK", [1, 2, 3], "topK: a list of emotions"),
    ],
)
def test_refused_by_file_id_and_field(tmp_path: Path, path: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError) as refusal:
        read(tmp_path, changed(path, value))
    text = str(refusal.value)
    assert text.startswith(f"{tmp_path / '0.json'}: '00000': ")
    assert re.search(message, text), text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "one JSON object"),
        ("[]", "one JSON object"),
        ('"00000"', "one JSON object"),
        ('{"00000": ', ":1: not JSON"),
        ('{}\n{"00000": {}}', "not JSON"),
        ('{"a":' * 100_000, "nests too deep|not JSON"),
        ('{"00000": {}, "00000": {}}', "'00000': labelled twice in this file"),
        ('{"00000": {"file": "a.mp4", "file": "b.mp4"}}', "'00000': 'file': given twice"),
        (
            '{"00000": {"file": "a.mp4", "emotions": {"Joy": 0.1, "Joy": 0.2}}}',
            "'00000': emotions: 'Joy': given twice",
        ),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        read(tmp_path, text)
    assert str(refusal.value).startswith(str(tmp_path / "0.json"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.json: cannot be read: No such file"):
        read_vce_labels([tmp_path / "none.json"])
    (tmp_path / "latin.json").write_bytes(b'{"caf\xe9": {}}')
    with pytest.raises(ValueError, match=r"latin\.json: is not UTF-8 at byte 5"):
        read_vce_labels([tmp_path / "latin.json"])


def test_labelled_twice(tmp_path: Path) -> None:
    one = {"00000": record(0, Joy=0.5)}
    with pytest.raises(ValueError, match=r"1\.json: '00000': labelled in .*0\.json already"):
        read(tmp_path, one, one)
    with pytest.raises(ValueError, match=r"'00001': file: .* labelled as '00000' already, in .*0"):
        read(tmp_path, one, {"00001": record(0, Joy=0.5)})
    same = read(tmp_path, one)
    with pytest.raises(ValueError, match="already"):
        read_vce_labels([tmp_path / "0.json", tmp_path / "0.json"])
    assert candidates_for(same, "00000.mp4").emotions == ("Joy",)


INTENSITIES = st.fixed_dictionaries(
    {emotion: st.integers(0, 6).map(lambda number: number / 6) for emotion in DAR_EMOTIONS}
)


@given(INTENSITIES)
def test_strongest_is_the_obvious_one(intensities: dict[str, float]) -> None:
    """Taking the maximum three times, the first in alphabetical order of those that reach it."""
    left = dict(sorted(intensities.items()))
    expected = []
    for _ in range(3):
        best = max(left, key=lambda emotion: left[emotion])
        if left[best] > 0:
            expected.append(best)
        del left[best]
    assert strongest(intensities) == tuple(expected)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(INTENSITIES, st.permutations(range(3)))
def test_our_own_top_k_always_agrees(
    tmp_path: Path, intensities: dict[str, float], order: list[int]
) -> None:
    ranked = sorted(intensities, key=lambda emotion: (-intensities[emotion], emotion))[:3]
    top_k = [ranked[place] for place in order]
    made = {"emotions": intensities, "file": "videos/00000.mp4", "topK": top_k}
    labels = read(tmp_path, {"00000": made})
    values = [intensities[emotion] for emotion in top_k]
    assert bool(labels.mismatches) == (values != sorted(values, reverse=True))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["00000", "00000/emotions", "00000/emotions/Joy", "00000/file", "00000/topK"]),
    JSON,
)
def test_anything_else_is_refused_or_read(tmp_path: Path, path: str, value: Any) -> None:
    try:
        labels = read(tmp_path, changed(path, value))
    except ValueError as refusal:
        assert str(refusal).startswith(f"{tmp_path / '0.json'}: '00000': ")
        return
    assert set(labels.candidates) == {"00000"}
    assert set(labels.candidates["00000"]) <= set(DAR_EMOTIONS)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8")))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "any.json"
    path.write_bytes(data)
    try:
        labels = read_vce_labels([path])
    except ValueError as refusal:
        assert str(refusal).startswith(str(path))
    else:
        assert labels.candidates == {}
