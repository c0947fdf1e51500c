"""Finding named things in pictures: what the grounding stage needs of a detector.

    detections = grounder.detect(frames, ("bird", "red ball"))
    detections[0]     # Detection(entity="bird", score=0.71, time_seconds=3.5, box=(...))

Grounding DINO plays it (`affect.model.grounding`), in process, from a folder named in the
configuration. Without one, `NO_GROUNDER` stands in and says that nothing was checked.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from affect.llm.chat import Frames
from data_prep.records import Detection


class Grounder(Protocol):
    """A detector with open vocabulary. name: None where there is none. identity: what decides its
    answers, for the hash of the stage."""

    @property
    def name(self) -> str | None: ...

    @property
    def identity(self) -> Any: ...

    def detect(self, frames: Frames, entities: Sequence[str]) -> tuple[Detection, ...]:
        """The best detection of each entity over all frames, in their order; score None where
        nothing was found at all."""
        ...


class _NoGrounder:
    name = None
    identity = None

    def detect(self, frames: Frames, entities: Sequence[str]) -> tuple[Detection, ...]:
        raise AssertionError("there is no grounder: ask for its name first")


NO_GROUNDER: Grounder = _NoGrounder()
