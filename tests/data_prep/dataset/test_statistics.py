"""Figure 3's statistics, each number worked out by hand from five videos."""

import json
import random

import pytest

from affect.taxonomy import DAR_EMOTIONS
from data_prep.dataset.comparison import beside_paper
from data_prep.dataset.paper import PAPER
from data_prep.dataset.rows import row_of
from data_prep.dataset.statistics import Gathered, distribution
from data_prep.dataset.terms import terms
from data_prep.records import GENRES, SCENES
from tests.data_prep.dataset.made_videos import finished

VIDEOS = [
    finished(
        "a.mp4",
        4.0,
        [(0.0, 1.0, "Craving", "Golden cheese, so tempting."), (1.0, 4.0, "Satisfaction", "Yum.")],
        genre="Food/Cooking",
        scene="indoor",
    ),
    finished(
        "b.mp4",
        6.0,
        [(0.0, 2.0, "Craving"), (2.0, 5.0, "Joy"), (5.0, 6.0, "Craving")],
        genre="Food/Cooking",
    ),
    finished("c.mp4", 8.0, [(0.0, 8.0, "Fear", "A dark, tempting cave.")], genre="Horror"),
    finished("d.mp4", 12.0, [(0.0, 6.0, "Anxiety"), (6.0, 12.0, "Fear")], genre="Animals"),
    finished("e.mp4", 5.0, [(0.0, 5.0, "Joy")]),
]


def document_of(videos=VIDEOS):
    gathered = Gathered()
    for video in videos:
        gathered.add(row_of(video))
    return gathered.document()


def test_durations_of_videos_and_segments():
    document = document_of()
    assert (document["num_videos"], document["num_segments"]) == (5, 9)
    assert document["video_seconds"]["mean"] == 7.0  # 35 s in 5 videos
    assert document["video_seconds"]["quantiles"]["0.5"] == 6.0
    assert document["segment_seconds"]["mean"] == pytest.approx(35 / 9)
    lengths = {one["from"]: one["count"] for one in document["segment_seconds"]["bins"]}
    assert lengths == {1.0: 2, 2.0: 1, 3.0: 2, 4.0: 0, 5.0: 1, 6.0: 2, 7.0: 0, 8.0: 1}


def test_segments_by_duration_of_the_video():
    by_duration = document_of()["segments_by_duration"]
    assert [(one["from_seconds"], one["num_videos"]) for one in by_duration] == [
        (0.0, 1),
        (5.0, 3),
        (10.0, 1),
    ]
    assert by_duration[1]["mean_num_segments"] == pytest.approx(5 / 3)
    assert by_duration[1]["num_videos_by_num_segments"] == {"1": 2, "3": 1}


def test_transitions_are_shares_of_what_leaves_an_emotion():
    transitions = document_of()["emotion_transitions"]
    assert transitions["num_transitions"] == 4
    assert transitions["counts"]["Craving"]["Satisfaction"] == 1
    assert transitions["shares"]["Craving"]["Satisfaction"] == 0.5
    assert transitions["shares"]["Craving"]["Joy"] == 0.5
    assert transitions["shares"]["Craving"]["Fear"] == 0.0
    assert transitions["shares"]["Anxiety"]["Fear"] == 1.0
    assert set(transitions["shares"]["Fear"].values()) == {None}  # nothing ever follows it


def test_emotions_over_segments():
    emotions = document_of()["emotions"]
    assert emotions["num"] == 9
    assert emotions["counts"]["Craving"] == 3 and emotions["counts"]["Awe (or Wonder)"] == 0
    assert emotions["shares"]["Craving"] == pytest.approx(1 / 3)
    assert emotions["ranked"] == ["Craving", "Fear", "Joy", "Anxiety", "Satisfaction"]
    assert emotions["top_17_share"] == 1.0


def test_the_share_of_the_top_17_leaves_the_others_out():
    spans = [(float(n), n + 1.0, emotion) for n, emotion in enumerate(DAR_EMOTIONS[:20])]
    emotions = document_of([finished("a.mp4", 20.0, spans)])["emotions"]
    assert emotions["top_17_share"] == pytest.approx(17 / 20)


def test_words_of_reasons():
    words = document_of()["reason_words"]
    # 4 and 1; then 7 each of the six made alike; "A dark, tempting cave." has 4.
    assert words["num"] == 9
    assert words["mean"] == pytest.approx((4 + 1 + 4 + 6 * 6) / 9)
    assert words["quantiles"]["0"] == 1 and words["quantiles"]["1"] == 6


def test_terms_leave_connectives_and_generic_nouns_out():
    found = document_of()["terms"]
    most = {one["term"]: one for one in found["most_frequent"]}
    assert most["tempting"]["count"] == 2 and most["tempting"]["names_emotions"] == ["Craving"]
    assert most["dark"]["count"] == 1 and most["dark"]["names_emotions"] == []
    assert not {"the", "viewer", "so", "moves", "something", "to", "a"} & set(most)
    assert sum(one["count"] for one in most.values()) == found["num"]
    assert terms("The viewer's mouth-watering, EAGER look; it\u2019s 3 videos.") == [
        "mouth-watering",
        "eager",
    ]
    assert terms("") == terms("12 ... \U0001f600") == []


def test_genres_and_scenes_over_tagged_videos_only():
    document = document_of()
    assert document["genres"]["num"] == 4 == document["scenes"]["num"]
    assert document["genres"]["shares"]["Food/Cooking"] == 0.5
    assert document["genres"]["shares"]["Horror"] == 0.25 == document["genres"]["shares"]["Animals"]
    assert document["scenes"]["shares"] == {"outdoor": 0.75, "indoor": 0.25}


def test_nothing_has_no_mean_and_no_share():
    document = document_of([])
    assert document["video_seconds"]["mean"] is None
    assert set(document["video_seconds"]["quantiles"].values()) == {None}
    assert document["emotions"]["top_17_share"] is None
    assert set(document["genres"]["shares"].values()) == {None}
    assert document["segments_by_duration"] == [] == document["terms"]["most_frequent"]
    json.dumps(document, allow_nan=False)
    assert {one["ours"] for one in beside_paper(document, {"train": 0, "dev": 0, "test": 0})} == {
        0,
        None,
    }


def test_the_order_of_rows_does_not_matter():
    videos = [
        finished(f"{number}.mp4", 1.1 + number / 7, [(0.0, 1.1 + number / 7, "Joy")])
        for number in range(60)
    ]
    texts = set()
    for seed in range(4):
        random.Random(seed).shuffle(videos)
        texts.add(json.dumps(document_of(videos)))
    assert len(texts) == 1


def test_bins_at_tenths_are_not_moved_by_binary_fractions():
    bins = distribution([0.3, 0.1, 0.7], 0.1)["bins"]
    assert [one["count"] for one in bins] == [1, 0, 1, 0, 0, 0, 1]


def test_what_the_paper_states():
    stated = {name: one.value for name, one in PAPER.flat().items()}
    assert stated["num_train_videos"] + stated["num_test_videos"] == stated["num_videos"] == 15087
    assert stated["mean_segment_seconds"] == 5.8 and stated["mean_video_seconds"] == 14.3
    assert (stated["craving_to_satisfaction"], stated["anxiety_to_fear"]) == (0.47, 0.30)
    assert tuple(PAPER.genres) == GENRES and set(PAPER.scenes) == set(SCENES)
    assert sum(one.value for one in PAPER.genres.values()) == pytest.approx(1.0)
    assert sum(one.value for one in PAPER.scenes.values()) == 1.0
    # The text agrees with itself: 14.3 s over 36,908 / 15,087 segments is 5.8 s each.
    assert round(14.3 / (stated["num_segments"] / stated["num_videos"]), 1) == 5.8


def test_ours_stands_beside_theirs():
    compared = {
        one["name"]: one for one in beside_paper(document_of(), {"train": 3, "dev": 1, "test": 1})
    }
    assert (compared["num_train_videos"]["ours"], compared["num_test_videos"]["ours"]) == (4, 1)
    assert compared["craving_to_satisfaction"]["ours"] == 0.5
    assert compared["craving_to_satisfaction"]["paper"] == 0.47
    assert compared["top_17_share"]["is_about"] is True
    assert compared["genre: Horror"] == {
        "name": "genre: Horror", "ours": 0.25, "paper": 0.08, "unit": "share of videos",
        "source": "appendix C", "is_about": False,
    }  # fmt: skip
