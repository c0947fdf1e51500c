"""Grounding DINO as the builder's grounder: from a folder in the configuration to detections.

    grounder = load_grounder(config.ground)      # NO_GROUNDER where ground.weights is null
    grounder.detect(frames, ("bird", "red ball"))

torch is imported when a model is built, not before, so that a build without one needs none.
"""

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from affect.llm.chat import Frames
from affect.weights_hash import sha256_of_weights
from data_prep.build.config import GroundSection
from data_prep.grounder import NO_GROUNDER, Grounder
from data_prep.records import Detection

if TYPE_CHECKING:
    from affect.model.grounding import Detector

_NUM_DECIMALS = 4
"""Of scores and boxes: float noise between thread counts stays out of records."""


def load_grounder(settings: GroundSection) -> Grounder:
    """Raises ValueError, with the folder's name, for weights that can't be loaded, and
    ModuleNotFoundError where torch or transformers is not installed."""
    if settings.weights is None:
        return NO_GROUNDER
    return DinoGrounder(settings.weights)


class DinoGrounder:
    """A Grounding DINO. `detect` may be called from several threads; one runs at a time.

    identity: a digest of the weights, not the folder they happen to lie in. The model itself is
    loaded when something is first looked for, so that a run with nothing left to do needs no GPU.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise ValueError(f"ground.weights: {folder}: no such folder")
        for package in ("torch", "transformers"):
            # Known now, and not when the first descriptions are paid for.
            if find_spec(package) is None:
                raise ModuleNotFoundError(f"ground.weights needs {package}", name=package)
        self._folder = folder
        self._identity = {"kind": "grounding-dino", "weights": sha256_of_weights(folder)}
        self._lock = threading.Lock()
        self._detector: Detector | None = None

    @property
    def name(self) -> str:
        return f"grounding-dino:{self._identity['weights'][:12]}"

    @property
    def identity(self) -> Any:
        return dict(self._identity)

    def detect(self, frames: Frames, entities: Sequence[str]) -> tuple[Detection, ...]:
        """Raises ValueError for weights that can't be loaded and pictures that can't be read."""
        with self._lock:
            found = self._loaded().find([frame.jpeg for frame in frames.frames], entities)
        return tuple(
            Detection(
                entity=one.entity,
                score=round(one.score, _NUM_DECIMALS),
                time_seconds=frames.frames[one.picture].time_seconds,
                box=(
                    round(one.box[0], _NUM_DECIMALS),
                    round(one.box[1], _NUM_DECIMALS),
                    round(one.box[2], _NUM_DECIMALS),
                    round(one.box[3], _NUM_DECIMALS),
                ),
            )
            for one in found
        )

    def _loaded(self) -> "Detector":
        if self._detector is None:
            from affect.model.grounding import load_detector

            self._detector = load_detector(self._folder)
        return self._detector
