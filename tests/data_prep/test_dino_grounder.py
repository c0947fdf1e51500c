"""The grounder of a build: a Grounding DINO of tiny random weights behind the stage's protocol."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from affect.llm.chat import ModelFailure
from affect.llm.scripted_models import ScriptedModels
from data_prep.build.config import DescribeSection, GroundSection
from data_prep.dino_grounder import DinoGrounder, load_grounder
from data_prep.grounder import NO_GROUNDER
from data_prep.records import Described, Description, Grounded, Span
from data_prep.stages.ground import ground
from tests.data_prep.stages.clips import plain_clip
from tests.paths import ROOT
from tests.tiny_grounding_dino import write_tiny_grounding_dino


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_grounding_dino(tmp_path_factory.mktemp("dino") / "tiny_random")


def test_no_weights_is_no_grounder() -> None:
    assert load_grounder(GroundSection()) is NO_GROUNDER
    assert NO_GROUNDER.name is None


def test_detections_name_the_second(folder: Path, tmp_path: Path) -> None:
    grounder = load_grounder(GroundSection(weights=folder))
    frames = plain_clip(tmp_path, 4.0).span(2.0, 4.0, 3)
    found = grounder.detect(frames, ("Brown dog", "bird"))
    assert [one.entity for one in found] == ["Brown dog", "bird"]
    for one in found:
        assert one.score is not None and one.box is not None
        assert one.time_seconds in (2.0, 3.0, 3.75)
        assert 0 <= one.score <= 1 and one.score == round(one.score, 4)
        assert all(0 <= edge <= 1 for edge in one.box)
    assert grounder.detect(frames, ("Brown dog", "bird")) == found


def test_identity_is_that_of_the_weights(folder: Path, tmp_path: Path) -> None:
    grounder = DinoGrounder(folder)
    same = DinoGrounder(write_tiny_grounding_dino(tmp_path / "elsewhere"))
    other = DinoGrounder(write_tiny_grounding_dino(tmp_path / "other", seed=1))
    assert grounder.identity == same.identity != other.identity
    assert grounder.name == f"grounding-dino:{grounder.identity['weights'][:12]}"
    assert str(folder) not in json.dumps(grounder.identity)


def test_a_folder_without_weights(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ground\.weights: .*none: no such folder"):
        load_grounder(GroundSection(weights=tmp_path / "none"))
    with pytest.raises(ValueError, match=r"holds no \*\.safetensors"):
        load_grounder(GroundSection(weights=tmp_path))


@pytest.mark.parametrize("min_score", [0.0, 1.0])
def test_the_stage_with_a_real_forward(folder: Path, tmp_path: Path, min_score: float) -> None:
    described = Described(
        descriptions=(
            Description(
                span=Span(start_seconds=0.0, end_seconds=2.0),
                text="A brown dog.",
                entities=("brown dog",),
            ),
        ),
        author="scripted_describe",
    )

    async def run() -> Grounded:
        record = await ground.function(
            plain_clip(tmp_path, 2.0),
            described,
            GroundSection(weights=folder, min_score=min_score, max_rewrites=1),
            DescribeSection(),
            load_grounder(GroundSection(weights=folder)),
            ScriptedModels(lambda role, question, num_ask: "", max_asks=1),
        )
        assert isinstance(record, Grounded)
        return record

    if min_score == 0.0:
        record = asyncio.run(run())
        assert record.descriptions == described.descriptions
        assert record.checks[0].detections[0].entity == "brown dog"
    else:
        with pytest.raises(ModelFailure):  # it went back to the author, who says nothing
            asyncio.run(run())


def test_torch_waits_for_something_to_look_for(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from data_prep.dino_grounder import load_grounder;"
        "from data_prep.build.config import GroundSection;"
        f"load_grounder(GroundSection(weights=Path({str(folder)!r})));"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
