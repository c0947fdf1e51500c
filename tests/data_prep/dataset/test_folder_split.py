"""Splits that folders name: taken as they are, or refused."""

import pytest

from data_prep.dataset.folder_split import split_by_folder

IDS = ["videos/train/b.mp4", "videos/dev/a.mp4", "videos/test/a.mp4"]


def test_the_folder_is_the_split() -> None:
    split_of = split_by_folder(IDS, [(one,) for one in IDS])
    assert list(split_of.items()) == [
        ("videos/dev/a.mp4", "dev"),
        ("videos/test/a.mp4", "test"),
        ("videos/train/b.mp4", "train"),
    ]


@pytest.mark.parametrize("name", ["videos/a.mp4", "train.mp4", "train/test/a.mp4", "Train/a.mp4"])
def test_a_path_without_one_split_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must lie in one folder called train, dev, test"):
        split_by_folder([*IDS, name], [])


def test_copies_in_two_splits_are_refused_and_in_one_kept() -> None:
    ids = [*IDS, "videos/train/c.mp4"]
    assert split_by_folder(ids, [("videos/train/b.mp4", "videos/train/c.mp4")])
    with pytest.raises(ValueError, match=r"several splits: videos/dev/a.mp4, videos/train/b.mp4"):
        split_by_folder(ids, [("videos/dev/a.mp4", "videos/train/b.mp4")])
