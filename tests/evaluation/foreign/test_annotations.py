"""Somebody's annotations become rows, or are refused by line with what is wrong."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affect.records import read_rows, write_sft_rows
from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import Segment
from affect.video import GuardedReader
from data_prep.rendered.encoding import write_clip
from evaluation.foreign.annotations import NO_REASON, read_label_map, rows_from
from evaluation.import_annotations import main

HEAD = "video,start,end,emotion,reason,duration\n"


def written(folder: Path, text: str, name: str = "theirs.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def draw(folder: Path, name: str, num_frames: int = 20) -> None:
    write_clip(folder / name, np.zeros((num_frames, 56, 56, 3), dtype=np.uint8), 10)


def test_a_csv_line_is_a_segment(tmp_path: Path) -> None:
    text = HEAD + (
        'x/b.mp4,4.20,8,Awe,"Far off, it is vast.",8\r\n'
        "a.mp4, 0 ,3.04,Joy,Fun.,3\r\n"
        "x/b.mp4,0,4.2,Sadness,Loss.,\r\n"
    )
    imported = rows_from(written(tmp_path, "\ufeff" + text), tmp_path, show_progress=False)
    assert [(row.id, row.video, row.duration_seconds) for row in imported.rows] == [
        ("x/b.mp4", "x/b.mp4", 8.0),
        ("a.mp4", "a.mp4", 3.0),
    ]
    timeline = imported.rows[0].timeline
    assert timeline is not None
    assert timeline.segments == (
        Segment(0.0, 4.2, "Sadness", "Loss."),
        Segment(4.2, 8.0, "Awe (or Wonder)", "Far off, it is vast."),
    )
    assert (imported.num_segments, imported.num_reasons_missing, imported.num_decoded) == (3, 0, 0)
    path = tmp_path / "rows.jsonl"
    write_sft_rows(path, imported.rows)
    assert read_rows(path) == list(imported.rows)
    # Times stand in the file as they were given, not rounded.
    assert json.loads(json.loads(path.read_text().splitlines()[1])["conversations"][1]["value"])[
        "segments"
    ][0]["end_time"] == pytest.approx(3.04)


def test_json_keeps_its_other_fields_and_counts_missing_reasons(tmp_path: Path) -> None:
    entry = {
        "id": "one",
        "video": "./a.mp4",
        "video_duration": "8.0",
        "genre": "comedy",
        "source": "mine",
        "segments": [
            {"start_time": "0", "end_time": 5, "label": "Joy", "confidence": 0.3},
            {"start": 5, "end": 8, "emotion": "Fear", "reason": " ... "},
        ],
    }
    path = written(tmp_path, json.dumps(entry) + "\n", "theirs.jsonl")
    (row,) = rows_from(path, tmp_path).rows
    assert (row.id, row.video, row.source) == ("one", "a.mp4", "mine")
    assert row.extra == {"genre": "comedy", "num_reasons_missing": 2}
    assert row.timeline is not None
    assert [segment.reason for segment in row.timeline.segments] == [NO_REASON, NO_REASON]
    keyed = {"a.mp4": {"segments": [{"start": 0, "end": 8, "emotion": "Joy"}], "duration": 8}}
    (row,) = rows_from(written(tmp_path, json.dumps(keyed), "k.json"), tmp_path).rows
    assert row.id == "a.mp4" and row.extra == {"num_reasons_missing": 1}


def test_durations_are_those_of_the_pictures(tmp_path: Path) -> None:
    draw(tmp_path, "x/a.mp4")
    draw(tmp_path, "b.mp4", 35)
    path = written(tmp_path, "video_id,start,end,label\nx/a,0,2,Joy\nb.mp4,0,3.4,Fear\n")
    with GuardedReader(None) as reader:
        imported = rows_from(path, tmp_path, reader=reader, show_progress=False)
    assert [(row.video, row.duration_seconds) for row in imported.rows] == [
        ("x/a.mp4", 2.0),
        ("b.mp4", 3.5),
    ]
    assert imported.num_decoded == 2


def test_a_whole_path_under_the_folder_is_taken(tmp_path: Path) -> None:
    text = f"video,start,end,emotion,duration\n{tmp_path}/x/../a.mp4,0,2,Joy,2\n"
    assert rows_from(written(tmp_path, text), tmp_path).rows[0].video == "a.mp4"


def test_labels_are_mapped_and_equal_neighbours_merged_only_when_told(tmp_path: Path) -> None:
    labels = read_label_map(written(tmp_path, "happy: Joy\nglad: Joy\nFear: Horror\n", "m.yaml"))
    assert labels == {"happy": "Joy", "glad": "Joy", "Fear": "Horror"}
    text = HEAD + "a,0,2,happy,Fun.,8\na,2,4,glad,,8\na,4,6,Joy,More.,8\na,6,8,Fear,Dark.,8\n"
    path = written(tmp_path, text)
    with pytest.raises(
        ValueError, match=r"csv:3: 'a' is not a timeline: repeated_emotion: segments"
    ):
        rows_from(path, tmp_path, label_map=labels)
    imported = rows_from(path, tmp_path, label_map=labels, merge_equal=True)
    timeline = imported.rows[0].timeline
    assert timeline is not None
    assert timeline.segments == (
        Segment(0.0, 6.0, "Joy", "Fun. More."),
        Segment(6.0, 8.0, "Horror", "Dark."),
    )
    assert imported.num_merged == 2
    assert imported.mapped_labels == {"happy": 1, "glad": 1, "Fear": 1}


@pytest.mark.parametrize("text", ["happy: joy\n", "x: 3\n", "x: [Joy]\n", "x:\n"])
def test_a_map_to_none_of_the_27_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"m\.yaml:1: .*which is none of the 27"):
        read_label_map(written(tmp_path, text, "m.yaml"))


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("a,0,4,Joy,r,8\n", ":2: 'a' is not a timeline: end: segments.0. ends at 4 s"),
        (
            "a,0,4,Joy,r,8\na,5,8,Fear,r,8\n",
            ":3: 'a' is not a timeline: gap: segments.1. starts 1 s",
        ),
        ("a,0,4,Joy,r,8\na,3,8,Fear,r,8\n", ":3: 'a' is not a timeline: overlap"),
        ("a,1,8,Joy,r,8\n", ":2: 'a' is not a timeline: start"),
        ("a,0,8,happy,r,8\n", ":2: emotion 'happy' is none of the 27; map it .*--label-map"),
        ("a,0,8,joy,r,8\n", ":2: emotion 'joy' is none of the 27"),
        ("a,0,4,Joy,r,8\na,4,8,Fear,r,9\n", ":3: duration: 9 s, but 'a' lasts 8 s by an earlier"),
        ("a,0,x,Joy,r,8\n", ":2: end: seconds as a number are needed, not 'x'"),
        ("a,0:00,8,Joy,r,8\n", ":2: start: seconds as a number"),
        ("a,0,nan,Joy,r,8\n", ":2: end: seconds as a number"),
        ("a,0,1e999,Joy,r,8\n", ":2: end: seconds as a number"),
        ("a,0,1_0,Joy,r,8\n", ":2: end: seconds as a number"),
        ("a,0,8,Joy,r,-8\n", ":2: video_duration: seconds above 0"),
        (",0,8,Joy,r,8\n", ":2: video: no video is named"),
        ("../a.mp4,0,8,Joy,r,8\n", ":2: video: '../a.mp4' climbs out"),
        ("/etc/a.mp4,0,8,Joy,r,8\n", ":2: video: '/etc/a.mp4' is not under .*--video-root"),
        ("http://x/a.mp4,0,8,Joy,r,8\n", ":2: video: .* is an address"),
        ("a.mp4,0,8,Joy,r,\n", r":2: .*a\.mp4: cannot be read"),
    ],
)
def test_what_is_no_timeline_is_refused_by_line(tmp_path: Path, lines: str, fault: str) -> None:
    with pytest.raises(ValueError, match=rf"theirs\.csv{fault}"):
        rows_from(written(tmp_path, HEAD + lines), tmp_path, show_progress=False)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[{"segments": []}]', ":1: video: a path is needed"),
        ('[{"video": "a", "segments": {}}]', ":1: segments: a list is needed"),
        ('[{"video": "a", "segments": [3]}]', r":1: segments\[0\]: an object is needed"),
        ('[{"video": "a", "segments": [{"end": 1}]}]', r":1: segments\[0\] has no start"),
        ('[{"video": "a", "segments": [{"start": true, "end": 1}]}]', r"segments\[0\]\.start"),
        ('[{"video": "a", "segments": [{"start": NaN, "end": 1}]}]', r"segments\[0\]\.start"),
        ('[{"video": "a", "segments": [{"start": 0, "end": 1}]}]', "a text as emotion"),
        ('[{"video": "a", "segments": [{"start": 0, "start": 1}]}]', "'start' is written more"),
        ('[{"video": "a", "id": 3, "segments": []}]', ":1: id: a text is needed"),
        ('[{"video": "a", "segments": [], "duration": 1}]', ":1: 'a' is not a timeline: empty"),
        ('[{"video": "a", "segments": []},\n{"video": "a", "segments": []}]', ":2: 'a' is annot"),
        (
            '[{"video": "a", "duration": 8, "messages": [], "segments":'
            ' [{"start": 0, "end": 8, "emotion": "Joy"}]}]',
            ":1: messages: not a field for",
        ),
        (
            '[{"video": "a", "duration": 8, "segments":'
            ' [{"start": 0, "end": 8, "emotion": "Joy", "reason": "\\ud800 x"}]}]',
            ":1: 'a' is not a timeline: not_text",
        ),
        ("[]", " holds no annotated video"),
    ],
)
def test_wrong_json_is_refused_by_line(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        rows_from(written(tmp_path, text, "a.json"), tmp_path, show_progress=False)


def test_all_clips_at_fault_are_listed(tmp_path: Path) -> None:
    text = HEAD + "".join(f"{index},0,4,Joy,r,8\n" for index in range(25))
    with pytest.raises(ValueError) as caught:
        rows_from(written(tmp_path, text), tmp_path, show_progress=False)
    lines = str(caught.value).splitlines()
    assert len(lines) == 21 and lines[-1] == "and 5 more clips"
    assert [line.split("theirs.csv:")[1].split(":")[0] for line in lines[:20]] == [
        str(number) for number in range(2, 22)
    ]


def test_a_name_of_two_files_or_two_names_of_one_file_are_refused(tmp_path: Path) -> None:
    draw(tmp_path, "a.mp4")
    text = "video,start,end,emotion\na,0,2,Joy\na.mp4,0,2,Joy\n"
    with pytest.raises(ValueError, match=r"csv:3: id 'a\.mp4' is annotated at .*csv:2 already"):
        rows_from(written(tmp_path, text), tmp_path, show_progress=False)
    (tmp_path / "a.avi").write_bytes(b"")
    with pytest.raises(ValueError, match=r"csv:2: video: 'a' is a\.avi or a\.mp4; name it with"):
        rows_from(written(tmp_path, text), tmp_path, show_progress=False)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    draw(tmp_path, "a.mp4")
    (root / "a.mp4").symlink_to(tmp_path / "a.mp4")
    path = written(tmp_path, "video,start,end,emotion\na.mp4,0,2,Joy\n")
    with pytest.raises(ValueError, match=r"csv:2: video: 'a\.mp4' leads out of"):
        rows_from(path, root, show_progress=False)


def test_the_command_writes_once_and_replaces_only_when_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, HEAD + "a.mp4,0,8,Joy,Fun.,8\n")
    out = tmp_path / "deep" / "rows.jsonl"
    command = ["--file", str(path), "--out", str(out)]
    assert main(command) == 0
    assert "1 rows with 1 segments, 0 of them without a reason" in capsys.readouterr().out
    assert main(command) == 0 and "there already, unchanged" in capsys.readouterr().out
    written(tmp_path, HEAD + "a.mp4,0,8,Fear,Fun.,8\n")
    assert main(command) == 2 and "--overwrite" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0
    (row,) = read_rows(out)
    assert row.timeline is not None and row.timeline.segments[0].emotion == "Fear"
    assert main(["--file", str(path), "--out", str(path)]) == 2
    assert "the file of annotations itself" in capsys.readouterr().err
    assert main(["--file", str(tmp_path / "none.csv"), "--out", str(out)]) == 2
    assert main([*command, "--video-root", str(tmp_path / "none")]) == 2
    other = written(tmp_path, "hello\n", "notes.txt")
    assert main(["--file", str(path), "--out", str(other)]) == 2
    assert other.read_text() == "hello\n"


@st.composite
def timelines(draw: st.DrawFn) -> list[tuple[float, float, str]]:
    """Boundaries in hundredths and neighbours that differ."""
    cuts = draw(st.lists(st.integers(30, 5000), min_size=1, max_size=6, unique=True))
    emotions = draw(st.permutations(DAR_EMOTIONS))
    times = [0.0, *(cut / 100 for cut in sorted(cuts))]
    return [(times[i], times[i + 1], emotions[i]) for i in range(len(times) - 1)]


@settings(max_examples=30)
@given(st.lists(timelines(), min_size=1, max_size=3))
def test_any_valid_annotation_comes_back_from_disk_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, clips: list[list[tuple[float, float, str]]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    lines = [
        f"{index}.mp4,{start},{end},{emotion},r{start},{clip[-1][1]}\n"
        for index, clip in enumerate(clips)
        for start, end, emotion in clip
    ]
    rows = rows_from(written(folder, HEAD + "".join(lines)), folder, show_progress=False).rows
    write_sft_rows(folder / "rows.jsonl", rows)
    for row, clip in zip(read_rows(folder / "rows.jsonl"), clips, strict=True):
        assert row.timeline is not None
        assert [
            (one.start_seconds, one.end_seconds, one.emotion) for one in row.timeline.segments
        ] == clip


@settings(max_examples=50)
@given(st.binary(max_size=80) | st.text('[]{}":,aevidosgmnt0\n', max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    for name in ("a.csv", "a.json", "a.jsonl"):
        path = folder / name
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"a\.(csv|jsonl?)"):
            rows_from(path, folder, show_progress=False)
