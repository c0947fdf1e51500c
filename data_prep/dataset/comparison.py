"""Ours beside what the paper states, figure by figure.

    beside_paper(document, {"train": 13646, "dev": 0, "test": 1441})[0]
    -> {"name": "num_videos", "ours": 15087, "paper": 15087.0, "unit": "videos",
        "source": "section 3.5", "is_about": False}

`ours` is None where it is the mean or share of nothing. The paper's 13,646 videos to train on
include those held out for choosing models (appendix D), so ours are train and dev together.
"""

from collections.abc import Mapping
from typing import Any

from data_prep.dataset.paper import PAPER
from data_prep.records import GENRES, SCENES


def beside_paper(
    document: Mapping[str, Any], num_videos: Mapping[str, int]
) -> list[dict[str, Any]]:
    """One entry for each figure of `PAPER`, in its order.

    document: of `Gathered`. num_videos: of each split.
    """
    shares = document["emotion_transitions"]["shares"]
    ours: dict[str, float | None] = {
        "num_videos": document["num_videos"],
        "num_segments": document["num_segments"],
        "num_train_videos": num_videos["train"] + num_videos["dev"],
        "num_test_videos": num_videos["test"],
        "mean_video_seconds": document["video_seconds"]["mean"],
        "mean_segment_seconds": document["segment_seconds"]["mean"],
        "craving_to_satisfaction": shares["Craving"]["Satisfaction"],
        "anxiety_to_fear": shares["Anxiety"]["Fear"],
        "top_17_share": document["emotions"]["top_17_share"],
        "mean_reason_words": document["reason_words"]["mean"],
        **{f"genre: {name}": document["genres"]["shares"][name] for name in GENRES},
        **{f"scene: {name}": document["scenes"]["shares"][name] for name in SCENES},
    }
    return [
        {
            "name": name,
            "ours": ours[name],
            "paper": stated.value,
            "unit": stated.unit,
            "source": stated.source,
            "is_about": stated.is_about,
        }
        for name, stated in PAPER.flat().items()
    ]
