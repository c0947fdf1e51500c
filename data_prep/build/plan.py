"""What a configuration asks to be done to every video, and the digests that say whether it changed.

plan = make_plan(config, stages_for(config.annotator), grounder.identity)
plan.digest_of(video.sha256, candidates)     # equal to a kept outcome's: nothing to do
plan.base                                    # of everything that is the same for all videos
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from affect.config.section import Section
from affect.file_hash import sha256_of_file
from affect.frozen import canonical_json, digest
from affect.llm.model_section import ModelSection
from affect.prompts import prompt_hash
from data_prep.build.config import MODEL_ROLES, BuildConfig
from data_prep.grounder import Grounder
from data_prep.records import Candidates
from data_prep.stages.stage import Stage, settings_of


@dataclass(frozen=True)
class Plan:
    """core: digest of what all stages depend on. base: of that and the label files, which decide
    the candidates."""

    stages: tuple[Stage, ...]
    sections: Mapping[type[Section], Section]
    model_identities: Mapping[str, Any]
    core: str
    base: str

    def digest_of(self, sha256: str, candidates: Candidates) -> str:
        """Of all that the outcome of a video with this content depends on."""
        text = "\n".join((self.core, sha256, candidates.canonical_json()))
        return hashlib.sha256(text.encode()).hexdigest()


def make_plan(config: BuildConfig, stages: tuple[Stage, ...], grounder_identity: Any) -> Plan:
    """Raises ValueError for a label file that can't be read."""
    sections = {
        type(value): value
        for name in type(config).model_fields
        if isinstance(value := getattr(config, name), Section)
    }
    identities = {
        # The name too: records hold it as their author.
        role: {"name": name, **config.models[name].identity, "prompts": _told(config.models[name])}
        for role, name in role_names(config).items()
    }
    depends = {
        "stages": [
            [stage.name, stage.version, {name: prompt_hash(name) for name in stage.prompts}]
            for stage in stages
        ],
        "sections": {
            kind.__name__: settings_of(sections[kind])
            for stage in stages
            for kind in stage.sections
        },
        "models": {role: identities[role] for stage in stages for role in stage.roles},
        "grounder": grounder_identity if _asks_grounder(stages) else None,
    }
    core = digest(depends)
    labels = [_content_sha256(path) for path in config.videos.labels]
    base = hashlib.sha256(canonical_json([core, labels]).encode()).hexdigest()
    return Plan(stages, sections, identities, core, base)


def role_names(config: BuildConfig) -> dict[str, str]:
    """Role, as stages ask for it, -> the model that plays it; only roles that are filled."""
    names = {role: getattr(config.roles, role) for role in MODEL_ROLES}
    names |= {f"judge_{n}": name for n, name in enumerate(config.roles.judges, start=1)}
    return {role: name for role, name in names.items() if name}


def _told(model: ModelSection) -> dict[str, str]:
    """Hashes of the prompts that a model may be given whatever a stage asks it."""
    names = ("ask_again",) if model.structured_output else ("ask_again", "reply_schema")
    return {name: prompt_hash(name) for name in names}


def _asks_grounder(stages: tuple[Stage, ...]) -> bool:
    return any(Grounder in stage.parameters.values() for stage in stages)


def _content_sha256(path: Path) -> str:
    try:
        return sha256_of_file(path)
    except OSError as error:
        raise ValueError(f"videos.labels: {path} cannot be read: {error.strerror}") from error
