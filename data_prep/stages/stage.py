"""A stage: a function from typed inputs to one typed record, and the hash of all it depends on.

    @stage(prompts=("build_tag",), roles=("tag",))
    async def tag(grounded: Grounded, settings: TagSection, models: Models) -> Tagged: ...

A stage says what it reads by its parameters' types: earlier records, sections of the
configuration, the video, its candidates, its clip, models, the grounder, the reader. What it does
not name it does not get, so nothing that changes its record can be forgotten in its hash.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from affect.config.section import Section
from affect.frozen import digest
from affect.llm.chat import Models
from affect.prompts import prompt_hash
from affect.video import GuardedReader
from data_prep.clip import Clip
from data_prep.grounder import Grounder
from data_prep.records import Candidates, Record, Video


@dataclass(frozen=True)
class Stage:
    """Use `stage(...)` to make one.

    name: one verb, the function's name. record: what it returns. needs: earlier records it reads.
    sections: of the configuration. prompts: files in `affect/prompts`. roles: whom it asks.
    version: raised whenever the code would give another record for the same inputs.
    """

    name: str
    function: Callable[..., Awaitable[Record]]
    record: type[Record]
    parameters: Mapping[str, type[Any]]
    prompts: tuple[str, ...]
    roles: tuple[str, ...]
    version: int

    @property
    def needs(self) -> tuple[type[Record], ...]:
        return tuple(kind for kind in self.parameters.values() if issubclass(kind, Record))

    @property
    def sections(self) -> tuple[type[Section], ...]:
        return tuple(kind for kind in self.parameters.values() if issubclass(kind, Section))

    def input_hash(self, inputs: "StageInputs") -> str:
        """SHA-256, in hex, of all that the record depends on."""
        depends: dict[str, Any] = {
            "stage": self.name,
            "version": self.version,
            "prompts": {name: prompt_hash(name) for name in self.prompts},
            "models": {role: inputs.model_identities[role] for role in self.roles},
            "records": {kind.__name__: digest(_dump(inputs.of(kind))) for kind in self.needs},
            "sections": {kind.__name__: settings_of(inputs.of(kind)) for kind in self.sections},
        }
        kinds = set(self.parameters.values())
        if kinds & {Video, Clip}:
            depends["video"] = inputs.video.sha256
        if Clip in kinds:
            depends["frames"] = inputs.clip.kept
        if Candidates in kinds:
            depends["candidates"] = _dump(inputs.candidates)
        if Grounder in kinds:
            depends["grounder"] = inputs.grounder.identity
        return digest(depends)

    async def run(self, inputs: "StageInputs") -> Record:
        """Raises StageFailure, ModelFailure, BudgetSpentError."""
        arguments = {name: inputs.of(kind) for name, kind in self.parameters.items()}
        record = await self.function(**arguments)
        assert isinstance(record, self.record), (self.name, record)
        return record


@dataclass(frozen=True)
class StageInputs:
    """All that a stage may ask for, of one video.

    model_identities: role -> what decides its replies (API, model, sampling), for the hash.
    """

    video: Video
    candidates: Candidates
    clip: Clip
    models: Models
    grounder: Grounder
    reader: GuardedReader
    sections: Mapping[type[Section], Section]
    records: Mapping[type[Record], Record]
    model_identities: Mapping[str, Any]

    def of(self, kind: type[Any]) -> Any:
        """The input of this type. Raises KeyError for a record that is not there yet."""
        if kind is Video:
            return self.video
        if kind is Candidates:
            return self.candidates
        if kind is Clip:
            return self.clip
        if kind is Models:
            return self.models
        if kind is Grounder:
            return self.grounder
        if kind is GuardedReader:
            return self.reader
        if issubclass(kind, Section):
            return self.sections[kind]
        return self.records[kind]


def stage(
    *, prompts: tuple[str, ...] = (), roles: tuple[str, ...] = (), version: int = 1
) -> Callable[[Callable[..., Awaitable[Record]]], Stage]:
    """Make a `Stage` of an async function with typed parameters."""

    def make(function: Callable[..., Awaitable[Record]]) -> Stage:
        hints = get_type_hints(function)
        record = hints.pop("return")
        assert inspect.iscoroutinefunction(function), function
        assert set(hints) == set(inspect.signature(function).parameters), function
        asks = Models in hints.values()
        assert asks == bool(roles), f"{function.__name__}: roles and a Models parameter go together"
        return Stage(function.__name__, function, record, hints, prompts, roles, version)

    return make


def settings_of(section: Section) -> Any:
    """All that a section says; its `identity` where some of it decides no record by itself."""
    return getattr(section, "identity", None) or _dump(section)


def _dump(value: Any) -> Any:
    return value.model_dump(mode="json")
