"""Export: both files say the same, read back equal, and nothing unfit is written."""

import json
from dataclasses import replace

import pytest

from affect.records import prompt_from_text, read_rows
from data_prep.export import export_split
from data_prep.rendered.rows import sample_rows


@pytest.fixture
def rows(tmp_path):
    rows = sample_rows(3, seed=5, split="dev")
    for row in rows:
        path = tmp_path / row.video
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"stands for the clip; export asks only whether it is there")
    return rows


def test_both_files_hold_the_same_clips_prompts_and_timelines(tmp_path, rows):
    export_split(tmp_path, "dev", rows)
    for name in ("dev.sft.jsonl", "dev.grpo.jsonl"):
        read = read_rows(tmp_path / name)
        assert [(row.id, row.video, row.prompt, row.timeline) for row in read] == [
            (row.id, row.video, row.prompt, row.timeline) for row in rows
        ]


def test_the_fields_on_disk(tmp_path, rows):
    export_split(tmp_path, "dev", rows)
    sft, grpo = (
        json.loads((tmp_path / name).read_text().splitlines()[0])
        for name in ("dev.sft.jsonl", "dev.grpo.jsonl")
    )
    answer = rows[0].timeline.to_json()
    human = sft["conversations"][0]["value"]
    assert set(sft) == {"id", "video", "video_duration", "source", "conversations"}
    assert set(grpo) == {"id", "messages", "videos", "video_duration", "source", "solution"}
    assert (sft["id"], sft["source"]) == ("dev/00000", "rendered")
    assert sft["video"] == "videos/dev/00000.mp4" == grpo["videos"][0]
    assert sft["video_duration"] == rows[0].duration_seconds == grpo["video_duration"]
    assert human.startswith("<video>\n")
    assert f"{rows[0].duration_seconds:.1f} seconds" in human
    assert grpo["messages"] == [{"role": "user", "content": human}]
    assert sft["conversations"][1] == {"from": "gpt", "value": answer}
    assert grpo["solution"] == answer


def test_a_row_without_its_clip_stops_both_files(tmp_path, rows):
    (tmp_path / rows[1].video).unlink()
    with pytest.raises(ValueError, match=r"dev row 'dev/00001': video: there is no file"):
        export_split(tmp_path, "dev", rows)
    assert not list(tmp_path.glob("*.jsonl"))


def test_a_row_without_a_timeline_is_refused(tmp_path, rows):
    with pytest.raises(ValueError, match="'dev/00002': no timeline"):
        export_split(tmp_path, "dev", [*rows[:2], replace(rows[2], timeline=None)])


def test_a_row_with_another_prompt_is_refused(tmp_path, rows):
    other = replace(rows[0], prompt=prompt_from_text("<video>\nSegment this."))
    with pytest.raises(ValueError, match="'dev/00000': the prompt is not the project's"):
        export_split(tmp_path, "dev", [other])


def test_a_clip_outside_the_folder_is_refused(tmp_path, rows):
    root = tmp_path / "root"
    (root / "videos").mkdir(parents=True)
    (root / "videos" / "dev").symlink_to(tmp_path / "videos" / "dev")
    with pytest.raises(ValueError, match=r"'dev/00000': video: .* leads out of"):
        export_split(root, "dev", rows)
