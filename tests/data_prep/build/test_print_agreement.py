"""The judges' agreement of a build: from what the latest configuration decided, and no more."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from affect.config import save_config
from affect.llm.model_section import ModelSection
from data_prep.build.config import BuildConfig, RolesSection, VideosSection
from data_prep.build.finished import decided_records
from data_prep.build.folder import BuildFolder
from data_prep.build.print_agreement import main
from data_prep.build.schema import open_database
from data_prep.records import Decided, Round
from tests.data_prep.stages.scripted_reasoning import make_judgement, make_reasoning

MODELS = {name: ModelSection(model=name) for name in ("author", "one", "two")}
ROLES = RolesSection(
    propose="author", verify="author", describe="author", tag="author", reason="author",
    judges=("one", "two"),
)  # fmt: skip


def decided(first: float, second: float, rejection: str | None = None) -> Decided:
    pair = make_judgement("one", first), make_judgement("two", second)
    rounds = (Round(segments=(make_reasoning(0, "Fear"),), judgements=(pair,), failed_segments=()),)
    return Decided(rejection=rejection, provenance="verified", segments=(), rounds=rounds)


@pytest.fixture
def build(tmp_path: Path) -> BuildFolder:
    """Two decided videos, one rejected early, one of an older configuration, one gone, one older
    record of the first."""
    folder = BuildFolder(tmp_path / "build")
    config = BuildConfig(videos=VideosSection(root=tmp_path), roles=ROLES, models=MODELS)
    save_config(folder.config, config)
    videos = (
        ("a", 2, "new", "done", "decide", decided(5, 4)),
        ("b", 2, "new", "rejected", "decide", decided(2, 3, "judged_too_low")),
        ("c", 2, "new", "rejected", "select", None),
        ("d", 2, "old", "done", "decide", decided(0, 0)),
        ("e", 1, "new", "done", "decide", decided(0, 0)),
    )
    with closing(open_database(folder.journal)) as journal:
        for run, base in ((1, "old"), (2, "new")):
            journal.execute("INSERT INTO runs VALUES (?, ?, 1, 'then', NULL, NULL)", (run, base))
        for name, listed, base, state, stage, record in videos:
            journal.execute("INSERT INTO videos VALUES (?, ?, 1, 1, 's', ?)", (name, name, listed))
            hashes = json.dumps({stage: "h2"})
            journal.execute(
                "INSERT INTO outcomes VALUES (?, ?, 'd', ?, ?, 1, '', '', ?, 2)",
                (name, base, state, stage, hashes),
            )
            if record is not None:
                for hashed, kept in (("h1", decided(0, 0)), ("h2", record)):
                    journal.execute(
                        "INSERT INTO records VALUES (?, 'decide', ?, ?, 0, 2, 'then')",
                        (name, hashed, kept.canonical_json()),
                    )
    return folder


def test_what_the_latest_configuration_decided(build: BuildFolder) -> None:
    assert list(decided_records(build)) == [decided(5, 4), decided(2, 3, "judged_too_low")]


def test_printed(build: BuildFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(build.path)]) == 0
    printed = capsys.readouterr().out
    assert "2 segments judged by one and two" in printed
    assert "causal_logic" in printed
    assert "the first judge 1, the second 1, both 1 (50.0%); same verdict on 100.0%" in printed
    assert main([str(build.path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["num_judged"] == 2
    assert report["dimensions"]["mean"]["pearson"]["value"] == pytest.approx(1.0)


def test_no_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "no build lies there" in capsys.readouterr().err
