"""A ladder's folder with hand-written answers, for the tests of this folder.

Truths: clips a and b of 8 s, [0, 4] Joy [4, 8] Fear. `GOLD`, `HALF` (one segment) and "" are the
answers that tests mix.
"""

import json
from pathlib import Path

from tests.evaluation.files import write_lines

REASONS = {
    "Joy": "A child runs to the window and laughs, which makes the viewer joyful with her.",
    "Fear": "Then the lamp goes out and a hand reaches in, which frightens the viewer badly.",
}
DURATION_SECONDS = 8.0


def answer(*spans: tuple[float, float, str]) -> str:
    """The JSON text of [start, end, emotion] triples with a reason that suits the emotion."""
    return json.dumps(
        {
            "segments": [
                {
                    "start_time": start,
                    "end_time": end,
                    "emotion": emotion,
                    "reason": REASONS[emotion],
                }
                for start, end, emotion in spans
            ]
        }
    )


GOLD = answer((0.0, 4.0, "Joy"), (4.0, 8.0, "Fear"))
HALF = answer((0.0, 8.0, "Joy"))
CLIP_IDS = ("a", "b")


def write_truths(path: Path) -> Path:
    """The two clips' rows in the released SFT format."""
    return write_lines(
        path,
        [
            {
                "id": name,
                "video": f"videos/{name}.mp4",
                "video_duration": DURATION_SECONDS,
                "conversations": [
                    {"from": "human", "value": "<video>\nSegment this video."},
                    {"from": "gpt", "value": GOLD},
                ],
            }
            for name in CLIP_IDS
        ],
    )


def write_answers(run: Path, *texts: str, num_tokens: int = 50, finished: bool = True) -> Path:
    """RUN/predictions/test.jsonl with one text per clip."""
    lines: list[dict[str, object]] = [{"header": {"model": "by hand"}}]
    for name, text in zip(CLIP_IDS, texts, strict=True):
        lines.append({"id": name, "text": text, "num_tokens": num_tokens, "finished": finished})
    return write_lines(run / "predictions" / "test.jsonl", lines)


def write_ladder(runs: Path) -> Path:
    """Two seeds: base answers nothing, the cold start half of it, GRPO more on seed 1."""
    for seed, grpo in ((0, (GOLD, HALF)), (1, (GOLD, GOLD))):
        folder = runs / f"seed{seed}"
        write_answers(folder / "base", "", "", num_tokens=220, finished=False)
        write_answers(folder / "sft", HALF, HALF)
        write_answers(folder / "grpo", *grpo, num_tokens=80)
    write_answers(runs / "seed0" / "grpo_without_count", HALF, HALF, num_tokens=40)
    return runs
