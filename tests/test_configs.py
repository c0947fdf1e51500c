"""Every checked-in configuration loads with the class bound to its folder, and says what it is."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from affect.config import load_config
from affect.config.help_text import first_comment
from affect.config.section import section_of
from tests.paths import ROOT
from tests.sources import project_files

CONFIG_CLASSES = {
    "sft": ("train.sft_config", "SftRun"),
    "grpo": ("train.grpo_config", "GrpoRun"),
    "build": ("data_prep.build.config", "BuildConfig"),
    "judge": ("evaluation.judge.config", "JudgeConfig"),
    "tables": ("evaluation.paper_tables.config", "TablesConfig"),
    "endpoints": ("affect.llm.model_section", "ModelSection"),
}
MISSPELT = {
    "sft": ("run_dirr", "run_dir"),
    "grpo": ("run_dirr", "run_dir"),
    "build": ("annotatr", "annotator"),
    "judge": ("sampels", "samples"),
    "tables": ("protocl", "protocol"),
    "endpoints": ("modell", "model"),
}
CONFIGS = [path for path in project_files() if path.parts[0] == "configs"]
RUNS = [path for path in CONFIGS if path.parts[1] in CONFIG_CLASSES]
LAUNCHES = [path for path in CONFIGS if path.parts[1] == "accelerate"]


def run_class(folder: str) -> Any:
    module, name = CONFIG_CLASSES[folder]
    return getattr(importlib.import_module(module), name)


def test_every_folder_has_a_class() -> None:
    assert sorted([*RUNS, *LAUNCHES]) == sorted(CONFIGS)
    assert {path.suffix for path in CONFIGS} == {".yaml"}
    assert {path.parts[1] for path in RUNS} == set(CONFIG_CLASSES)


@pytest.mark.parametrize("path", RUNS, ids=str)
def test_run_configurations_load(path: Path) -> None:
    load_config(run_class(path.parts[1]), ROOT / path)


@pytest.mark.parametrize("path", CONFIGS, ids=str)
def test_the_first_line_describes_it(path: Path) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert len(first_comment(ROOT / path)) > 20


@pytest.mark.parametrize("folder", CONFIG_CLASSES)
def test_every_field_is_described(folder: str) -> None:
    def undescribed(cls: type[BaseModel], prefix: str = "") -> list[str]:
        names: list[str] = []
        for name, field in cls.model_fields.items():
            section = section_of(field.annotation)
            if section:
                names += undescribed(section, f"{prefix}{name}.")
                names += [] if (field.description or section.__doc__) else [prefix + name]
            elif not field.description:
                names.append(prefix + name)
        return names

    assert undescribed(run_class(folder)) == []


@pytest.mark.parametrize("folder", CONFIG_CLASSES)
def test_a_wrong_key_is_refused_before_torch_is_loaded(folder: str) -> None:
    wrong, meant = MISSPELT[folder]
    code = (
        "import sys\n"
        f"from {CONFIG_CLASSES[folder][0]} import {CONFIG_CLASSES[folder][1]} as run_class\n"
        "from affect.config import load_config\n"
        f"try:\n    load_config(run_class, overrides={{'{wrong}': 'x'}})\n"
        "except ValueError as error:\n    print(error)\n"
        "print('torch' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout == f'--{wrong}: unknown key "{wrong}"; did you mean "{meant}"?\nFalse\n'


@pytest.mark.parametrize("path", LAUNCHES, ids=str)
def test_launch_configurations_load(path: Path) -> None:
    config_args = pytest.importorskip("accelerate.commands.config.config_args")
    config = config_args.load_config_from_file(str(ROOT / path))
    assert config.num_processes == {"cpu2": 2, "zero2": 4, "zero3": 4}[path.stem]
    if path.stem.startswith("zero"):
        assert config.distributed_type == "DEEPSPEED"
        assert config.deepspeed_config["zero_stage"] == int(path.stem.removeprefix("zero"))


@pytest.mark.slow
def test_cpu2_starts_two_processes_that_know_each_other(tmp_path: Path) -> None:
    """Without gloo accelerate counts one process each: the second run shows that it still does."""
    pytest.importorskip("accelerate")
    script = tmp_path / "ranks.py"
    script.write_text(
        "import sys\n"
        "from accelerate import PartialState\n"
        "state = PartialState(**({'backend': 'gloo'} if sys.argv[1] == 'gloo' else {}))\n"
        "state.wait_for_everyone()\n"
        "sys.stdout.write(f'rank {state.process_index} of {state.num_processes}\\n')\n"
        "state.destroy_process_group()\n"
    )
    launch = [str(Path(sys.executable).with_name("accelerate")), "launch"]
    launch += ["--config_file", str(ROOT / "configs" / "accelerate" / "cpu2.yaml"), str(script)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    printed = {}
    for backend in ("gloo", "none"):
        run = subprocess.run(
            [*launch, backend], capture_output=True, text=True, check=True, env=environment
        )
        printed[backend] = sorted(run.stdout.splitlines())
    assert printed["gloo"] == ["rank 0 of 2", "rank 1 of 2"]
    assert printed["none"] == ["rank 0 of 1", "rank 0 of 1"]
