"""Grounding DINO in process: whether things named in words are seen in pictures, and where.

    detector = load_detector("weights/grounding-dino-base", device="cuda")
    detector.find([jpeg_0, jpeg_1], ("brown dog", "red ball"))
    # (Found(entity="brown dog", score=0.62, picture=1, box=(0.31, 0.40, 0.58, 0.93)), ...)

The folder is a `GroundingDinoForObjectDetection` with its processor as transformers saves them.
Only safetensors are loaded, no code from the checkpoint is run, and nothing is downloaded.

The model reads one lower-case caption, `brown dog. red ball.`, in which the words of a phrase see
only each other, and scores each box against each token. transformers' own post-processing decodes
the tokens above a threshold back to text, so that "red ball" can come back as "ball", or as "dog
ball". Here each phrase keeps the places of its own tokens, and its score for a box is the mean over
its words of the best token of each: a ball of another colour does not pass for a red one by its
noun alone, and a word in many pieces does not lose by it.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from PIL import Image, UnidentifiedImageError
from safetensors import SafetensorError
from transformers import AutoConfig, GroundingDinoForObjectDetection, GroundingDinoProcessor

from affect.timeline import is_blank

DEFAULT_BATCH_SIZE = 4
"""Pictures in one forward; a batch of 4 at 800 x 1333 takes some 3 GB."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best place of one entity over all pictures. score: 0 to 1. picture: its index.
    box: left, top, right, bottom as shares of the picture, within 0 to 1."""

    entity: str
    score: float
    picture: int
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Caption:
    """One text for the model. words: for each of its entities, for each word, its tokens' places.
    first: the index of its first entity among all."""

    text: str
    words: tuple[tuple[tuple[int, ...], ...], ...]
    first: int


class Detector:
    """A loaded model; `find` is deterministic on one device and may not run twice at once."""

    def __init__(self, model: Any, processor: Any, batch_size: int = DEFAULT_BATCH_SIZE) -> None:
        assert batch_size >= 1, batch_size
        self.model = model.eval()
        self.processor = processor
        self.batch_size = batch_size

    def find(self, jpegs: Sequence[bytes], entities: Sequence[str]) -> tuple[Found, ...]:
        """The best place of each entity, in their order; of equal scores the first picture's.

        jpegs: pictures in any format that Pillow reads, at least one.

        Raises:
            ValueError: a picture that can't be read, or an entity that can't be looked for (no
                letter or digit, a full stop, more tokens than the model reads).
        """
        if not jpegs:
            raise ValueError("at least one picture is needed to look for things in")
        pictures = [_picture(number, data) for number, data in enumerate(jpegs)]
        best: list[Found | None] = [None] * len(entities)
        for caption in self.captions(entities):
            for start in range(0, len(pictures), self.batch_size):
                batch = pictures[start : start + self.batch_size]
                scores, boxes = self.forward(batch, caption)
                self._take_better(best, entities, caption, start, scores, boxes)
        assert all(found is not None for found in best)
        return tuple(found for found in best if found is not None)

    def captions(self, entities: Sequence[str]) -> tuple[Caption, ...]:
        """As few captions as hold all entities within the length that the model reads."""
        captions: list[Caption] = []
        phrases: list[str] = []
        for number, entity in enumerate(entities):
            phrase = _phrase(entity)
            if self._fits([*phrases, phrase]):
                phrases.append(phrase)
                continue
            if not phrases or not self._fits([phrase]):
                raise ValueError(f"the entity {entity!r} has more tokens than the model reads")
            captions.append(self._caption(phrases, number - len(phrases)))
            phrases = [phrase]
        if phrases:
            captions.append(self._caption(phrases, len(entities) - len(phrases)))
        return tuple(captions)

    @torch.inference_mode()
    def forward(
        self, pictures: Sequence[Image.Image], caption: Caption
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (pictures, queries, entities) and boxes (pictures, queries, 4) as left, top,
        right, bottom, in shares of each picture, on the CPU in float32."""
        inputs = self.processor(
            images=list(pictures), text=[caption.text] * len(pictures), return_tensors="pt"
        ).to(self.model.device)
        inputs["pixel_values"] = inputs["pixel_values"].to(self.model.dtype)
        outputs = self.model(**inputs)
        tokens = outputs.logits.float().sigmoid().cpu()
        scores = torch.stack([_phrase_scores(tokens, words) for words in caption.words], dim=-1)
        x, y, width, height = outputs.pred_boxes.float().cpu().unbind(-1)
        edges = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        return scores, torch.stack(edges, dim=-1).clamp(0, 1)

    def _take_better(
        self,
        best: list[Found | None],
        entities: Sequence[str],
        caption: Caption,
        start: int,
        scores: torch.Tensor,
        boxes: torch.Tensor,
    ) -> None:
        for place in range(len(caption.words)):
            number = caption.first + place
            for picture in range(len(scores)):
                query = int(scores[picture, :, place].argmax())
                score = float(scores[picture, query, place])
                known = best[number]
                if known is None or score > known.score:
                    left, top, right, bottom = boxes[picture, query].tolist()
                    box = (left, top, right, bottom)
                    best[number] = Found(entities[number], score, start + picture, box)

    def _fits(self, phrases: Sequence[str]) -> bool:
        length = len(self.processor.tokenizer(_text(phrases))["input_ids"])
        return bool(length <= self.model.config.max_text_len)

    def _caption(self, phrases: Sequence[str], first: int) -> Caption:
        text = _text(phrases)
        encoding = self.processor.tokenizer(text, return_offsets_mapping=True)
        offsets = encoding["offset_mapping"]
        words, position = [], 0
        for phrase in phrases:
            places = []
            for word in phrase.split(" "):
                end = position + len(word)
                # Special tokens have the empty span (0, 0).
                own = [
                    token
                    for token, (begin, stop) in enumerate(offsets)
                    if begin < stop and position <= begin and stop <= end
                ]
                if own:  # a word of invisible characters has no token
                    places.append(tuple(own))
                position = end + 1
            assert places, (text, phrase)  # `_phrase` asks for a letter or digit
            words.append(tuple(places))
            position += 1  # the full stop took the place of the space; this is the space after it
        return Caption(text, tuple(words), first)


def load_detector(
    path: str | Path, *, device: str | None = None, batch_size: int = DEFAULT_BATCH_SIZE
) -> Detector:
    """The Grounding DINO of a local folder.

    device: as in "cuda:0"; None is the first GPU where there is one, else the CPU.

    Raises:
        ValueError: no such folder, another architecture, weights that are not safetensors, broken
            or not all there, no processor.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise ValueError(f"{path}: no such folder")
    if not any(folder.glob("*.safetensors")):
        raise ValueError(f"{path}: holds no *.safetensors file; only safetensors are loaded")
    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(str(folder), **local)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: no config.json of a known model: {error}") from error
    if config.model_type != "grounding-dino":
        raise ValueError(f"{path}: a {config.model_type} model, where a grounding-dino is needed")
    try:
        processor = GroundingDinoProcessor.from_pretrained(str(folder), **local)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: no processor could be loaded: {error}") from error
    try:
        model, report = GroundingDinoForObjectDetection.from_pretrained(
            str(folder), use_safetensors=True, output_loading_info=True, **local
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"{path}: the model could not be loaded: {error}") from error
    if missing := sorted(report["missing_keys"]):
        raise ValueError(f"{path}: {len(missing)} weights are missing, as {missing[0]}")
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return Detector(model.to(chosen), processor, batch_size)


def _phrase_scores(tokens: torch.Tensor, words: Sequence[Sequence[int]]) -> torch.Tensor:
    """(pictures, queries, tokens) -> (pictures, queries): mean over words of the best token."""
    return torch.stack([tokens[..., list(own)].amax(-1) for own in words]).mean(0)


def _phrase(entity: str) -> str:
    """The entity as it stands in the caption: lower case, single spaces."""
    phrase = " ".join(entity.lower().split())
    if "." in phrase or is_blank(phrase):
        raise ValueError(f"the entity {entity!r} must be words without a full stop")
    return phrase


def _text(phrases: Sequence[str]) -> str:
    return ". ".join(phrases) + "."


def _picture(number: int, data: bytes) -> Image.Image:
    try:
        with Image.open(io.BytesIO(data)) as image:
            return image.convert("RGB")
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
        raise ValueError(f"picture {number} cannot be read: {error}") from error
