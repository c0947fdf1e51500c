"""A small folder of label files in TSL-300's format.

Example: `write_labels(tmp_path, {"1_Ekman6_a": ("test", 130.0, [("10.0", "20.5", "p")])})`
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Video = tuple[str, float, Sequence[tuple[Any, Any, Any]]]

TWO_VIDEOS: dict[str, Video] = {
    "1_Ekman6_a": ("test", 130.0, [("10.0", "20.0", "p"), ("40.0", "60.0", "n")]),
    "2_Ekman6_b": ("test", 200.0, [("0.0", "100.0", "p")]),
    "3_Ekman6_c": ("train", 150.0, []),
}


def write_labels(folder: Path, videos: Mapping[str, Video]) -> Path:
    """All four files, agreeing with each other."""
    database = {
        name: {
            "subset": subset,
            "annotations": [
                {"segment": [start, end], "label": label} for start, end, label in segments
            ],
        }
        for name, (subset, _, segments) in videos.items()
    }
    durations = {name: seconds for name, (_, seconds, _) in videos.items()}
    tests = [name for name, (subset, _, _) in videos.items() if subset == "test"]
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "gt.json", {"database": database})
    write(folder / "len_duration_dict.json", durations)
    write(folder / "time.json", {name: durations[name] for name in tests})
    (folder / "split_test.txt").write_text("".join(f"{name}\n" for name in tests))
    return folder


def write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
