"""Our hash is imagehash's, except for pictures of one colour."""

import imagehash
import numpy as np
import pytest
from PIL import Image

from data_prep.picture.hashes import Hashes, perceptual_hash
from tests.data_prep.picture.drawn import flat, scene, seen_by, view_of


@pytest.mark.parametrize("seed", range(5))
def test_same_as_imagehash(seed: int) -> None:
    gray = view_of(scene(seed)).gray
    theirs = imagehash.phash(Image.fromarray(gray))
    bits = [bool(perceptual_hash(gray) >> (63 - place) & 1) for place in range(64)]
    assert np.array_equal(np.array(bits).reshape(8, 8), theirs.hash)
    assert perceptual_hash(gray) != 0


def test_noise_on_one_colour_is_no_structure() -> None:
    noise = np.random.default_rng(0).normal(100, 1.0, (90, 160)).round().astype(np.uint8)
    assert perceptual_hash(noise) == 0
    assert perceptual_hash(np.zeros((90, 160), np.uint8)) == 0


def test_mean_distance_of_neighbours() -> None:
    hashes = Hashes({0, 2, 3})
    pictures = [scene(1), scene(2), flat(0), scene(1)]
    seen_by(hashes, pictures)
    assert set(hashes.of) == {0, 2, 3}
    bits = hashes.of[0].bit_count()
    assert hashes.of[2] == 0 and hashes.of[3] == hashes.of[0]
    assert hashes.mean_distance([0, 2, 3]) == (bits + bits) / 2
    assert hashes.mean_distance([0, 3]) == 0


def test_one_frame_has_no_neighbour() -> None:
    assert seen_by(Hashes({0}), [scene(1)]).mean_distance([0]) is None


def test_of_equal_stamps_the_first_frame_counts() -> None:
    hashes = Hashes({7})
    hashes.see(7, view_of(scene(1)))
    hashes.see(7, view_of(scene(2)))
    assert hashes.of == {7: perceptual_hash(view_of(scene(1)).gray)}
