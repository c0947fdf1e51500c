"""Grounding DINO, of tiny random weights: real forwards, and each phrase at its own tokens."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from affect.model.grounding import Caption, Detector, load_detector
from tests.tiny_grounding_dino import (
    MAX_TEXT_TOKENS,
    NUM_QUERIES,
    tiny_model,
    tiny_processor,
    write_tiny_grounding_dino,
)


def noise(seed: int, size: tuple[int, int] = (64, 48)) -> bytes:
    values = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(values).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_grounding_dino(tmp_path_factory.mktemp("dino") / "tiny_random")


@pytest.fixture(scope="module")
def detector(folder: Path) -> Detector:
    return load_detector(folder, device="cpu", batch_size=2)


def test_tokens_of_each_phrase(detector: Detector) -> None:
    entities = ["Brown  dog", "skateboarder", "man's hat"]
    assert detector.captions(entities) == (
        Caption(
            "brown dog. skateboarder. man's hat.",
            # [CLS] brown dog . skate ##board ##er . man ' s hat . [SEP]
            (((1,), (2,)), ((4, 5, 6),), ((8, 9, 10), (11,))),
            0,
        ),
    )


def test_words_within_words_keep_their_own_place(detector: Detector) -> None:
    (caption,) = detector.captions(["a", "man", "a man", "red ball", "ball"])
    # [CLS] a . man . a man . red ball . ball . [SEP]
    assert caption.words == (((1,),), ((3,),), ((5,), (6,)), ((8,), (9,)), ((11,),))


def test_unknown_and_odd_words(detector: Detector) -> None:
    (caption,) = detector.captions(["\u00c9clair \u200b", "[SEP] dog", "42"])
    assert [len(words) for words in caption.words] == [1, 2, 1]
    for words in caption.words:
        assert all(words)


@pytest.mark.parametrize("entity", ["", " ", "a. b", "-", "\u200b", "dog " * MAX_TEXT_TOKENS])
def test_what_cannot_be_looked_for(detector: Detector, entity: str) -> None:
    with pytest.raises(ValueError, match="the entity"):
        detector.find([noise(0)], ["bird", entity])


def test_long_lists_take_several_captions(detector: Detector) -> None:
    entities = ["brown dog", "red ball", "wet sand"] * 6
    captions = detector.captions(entities)
    # 3 tokens for each and 2 around all: 7 fit into 24.
    assert [len(caption.words) for caption in captions] == [7, 7, 4]
    assert [caption.first for caption in captions] == [0, 7, 14]
    found = detector.find([noise(0)], entities)
    assert [one.entity for one in found] == entities


def test_one_token_agrees_with_the_processors_own_boxes(detector: Detector) -> None:
    """Where a caption is one word, a box's best token is that word's: what transformers reports."""
    (caption,) = detector.captions(["bird"])
    picture = Image.open(io.BytesIO(noise(3)))
    scores, boxes = detector.forward([picture], caption)
    inputs = detector.processor(images=picture, text="bird.", return_tensors="pt")
    with torch.no_grad():
        outputs = detector.model(**inputs)
    # All but the word's own token out of the way, as a trained model puts them near 0.
    outputs.logits[:, :, [0, 2, 3]] = -100.0
    (theirs,) = detector.processor.post_process_grounded_object_detection(
        outputs, threshold=0.0, text_threshold=0.0, target_sizes=[(1, 1)]
    )
    assert len(theirs["scores"]) == NUM_QUERIES
    torch.testing.assert_close(scores[0, :, 0], theirs["scores"])
    torch.testing.assert_close(boxes[0], theirs["boxes"].clamp(0, 1))


class ScriptedModel(torch.nn.Module):
    """Says the logits and boxes that it is given, for any picture, in turn."""

    def __init__(self, real: Any, logits: torch.Tensor, boxes: torch.Tensor) -> None:
        super().__init__()
        self.config, self.device, self.dtype = real.config, torch.device("cpu"), torch.float32
        self.logits, self.boxes, self.num_shown = logits, boxes, 0

    def forward(self, pixel_values: torch.Tensor, **_: Any) -> Any:
        shown = slice(self.num_shown, self.num_shown + len(pixel_values))
        self.num_shown += len(pixel_values)

        class Outputs:
            logits, pred_boxes = self.logits[shown], self.boxes[shown]

        return Outputs


def logit(probability: float) -> float:
    return float(torch.logit(torch.tensor(probability)))


def test_scores_worked_out_by_hand(detector: Detector) -> None:
    """[CLS] red ball . skate ##board ##er . [SEP]; two pictures of two boxes each."""
    logits = torch.full((2, 2, MAX_TEXT_TOKENS), float("-inf"))
    boxes = torch.tensor([[[0.5, 0.5, 0.2, 0.4], [0.1, 0.9, 0.4, 0.4]]] * 2)
    for picture, query, token, probability in [
        (0, 0, 1, 0.1), (0, 0, 2, 0.9),  # a ball of another colour: .5
        (0, 1, 1, 0.6), (0, 1, 2, 0.3),  # .45
        (1, 0, 1, 0.2), (1, 0, 2, 0.2),  # .2
        (1, 1, 1, 0.7), (1, 1, 2, 0.6),  # .65, the best
        (0, 0, 4, 0.3), (0, 0, 5, 0.8), (0, 0, 6, 0.1),  # .8: the word's best piece
        (1, 0, 4, 0.7), (1, 1, 6, 0.75),
        (0, 1, 0, 0.99), (0, 1, 3, 0.99),  # [CLS] and the full stop are nobody's
    ]:  # fmt: skip
        logits[picture, query, token] = logit(probability)
    model = ScriptedModel(detector.model, logits, boxes)
    scripted = Detector(model, detector.processor, batch_size=1)
    ball, skater = scripted.find([noise(0), noise(1)], ["red ball", "skateboarder"])
    assert (ball.picture, skater.picture) == (1, 0)
    assert ball.score == pytest.approx(0.65)
    assert skater.score == pytest.approx(0.8)
    # Centre and size to edges, cut at the picture's: 0.9 + 0.2 lies outside.
    assert ball.box == pytest.approx((0.0, 0.7, 0.3, 1.0), abs=1e-6)
    assert skater.box == pytest.approx((0.4, 0.3, 0.6, 0.7), abs=1e-6)


def test_equal_scores_go_to_the_first_picture(detector: Detector) -> None:
    once = detector.find([noise(0)], ["bird"])
    assert detector.find([noise(0), noise(0), noise(0)], ["bird"]) == once


def test_the_best_over_all_pictures(detector: Detector) -> None:
    """Batches of two, against one picture at a time; the last batch is smaller."""
    pictures = [noise(seed) for seed in range(5)]
    entities = ["brown dog", "bird", "skateboarder"]
    singles = [detector.find([picture], entities) for picture in pictures]
    found = detector.find(pictures, entities)
    for place, one in enumerate(found):
        best = max(range(5), key=lambda number: singles[number][place].score)
        assert one.picture == best
        assert one.score == pytest.approx(singles[best][place].score, abs=1e-5)
        assert one.box == pytest.approx(singles[best][place].box, abs=1e-5)
        assert 0 <= one.score <= 1
        left, top, right, bottom = one.box
        assert 0 <= left <= right <= 1 and 0 <= top <= bottom <= 1


def test_pictures_of_two_sizes(detector: Detector) -> None:
    found = detector.find([noise(0, (64, 48)), noise(1, (40, 60))], ["bird"])
    alone = detector.find([noise(1, (40, 60))], ["bird"])
    assert found[0].score >= alone[0].score - 0.2  # padding moves scores of random weights a little


def test_pictures_that_are_none(detector: Detector) -> None:
    with pytest.raises(ValueError, match="picture 1 cannot be read"):
        detector.find([noise(0), b"no picture"], ["bird"])
    with pytest.raises(ValueError, match="at least one picture"):
        detector.find([], ["bird"])


def test_another_seed_is_another_model(folder: Path, detector: Detector) -> None:
    again = load_detector(folder, device="cpu").find([noise(0)], ["bird"])
    assert again == detector.find([noise(0)], ["bird"])
    other = Detector(tiny_model(seed=1), tiny_processor()).find([noise(0)], ["bird"])
    assert other[0].score != again[0].score


def test_folders_that_cannot_be_loaded(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such folder"):
        load_detector(tmp_path / "none")
    broken = tmp_path / "broken"
    broken.mkdir()
    with pytest.raises(ValueError, match="only safetensors are loaded"):
        load_detector(broken)
    (broken / "model.safetensors").write_bytes(b"not a model")
    with pytest.raises(ValueError, match=r"no config\.json"):
        load_detector(broken)
    config = json.loads((folder / "config.json").read_text())
    (broken / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ValueError, match="a bert model, where a grounding-dino is needed"):
        load_detector(broken)
    (broken / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="no processor could be loaded"):
        load_detector(broken)
    tiny_processor().save_pretrained(broken)
    with pytest.raises(ValueError, match="the model could not be loaded"):
        load_detector(broken)


def test_missing_weights_are_refused(folder: Path, tmp_path: Path) -> None:
    """Otherwise they would be random, and the detector would see what is not there."""
    from safetensors.torch import load_file, save_file

    model = tiny_model()
    model.save_pretrained(tmp_path)
    tiny_processor().save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    name = next(name for name in sorted(weights) if "encoder.layers" in name)
    del weights[name]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match="1 weights are missing"):
        load_detector(tmp_path)
