"""Only a checkpoint that is whole is gone on from, and what is wrong with the others is said."""

import json
from pathlib import Path

import pytest

from affect.run_folder import checkpoint_steps
from train.checkpoints import CONTENTS_FILE, find_checkpoint, seal_checkpoint

FILES = {
    "model.safetensors": b"w" * 100,
    "optimizer.pt": b"o" * 200,
    "trainer_state.json": b"{}",
    "global_step4/zero_pp_rank_1_mp_rank_00_optim_states.pt": b"z" * 50,
}


def write_checkpoint(folder: Path, num_processes: int = 1) -> Path:
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    seal_checkpoint(folder, num_processes)
    return folder


def test_the_list_of_contents(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "checkpoint-4", num_processes=2)
    assert json.loads((folder / CONTENTS_FILE).read_text()) == {
        "num_processes": 2,
        "files": {name: len(content) for name, content in sorted(FILES.items())},
    }
    seal_checkpoint(folder, 2)
    assert CONTENTS_FILE not in json.loads((folder / CONTENTS_FILE).read_text())["files"]


def test_the_newest_is_found_by_number(tmp_path: Path) -> None:
    for step in (10, 9, 100):
        write_checkpoint(tmp_path / f"checkpoint-{step}")
    assert find_checkpoint(tmp_path, 1) == (tmp_path / "checkpoint-100", [])
    assert checkpoint_steps(tmp_path) == [9, 10, 100]


@pytest.mark.parametrize("name", ["checkpoint-9x", "old-checkpoint-9", "checkpoint-", "tmp"])
def test_other_folders_are_no_checkpoints(tmp_path: Path, name: str) -> None:
    write_checkpoint(tmp_path / name)
    assert find_checkpoint(tmp_path, 1) == (None, [])
    assert checkpoint_steps(tmp_path) == []


def test_no_folder_at_all(tmp_path: Path) -> None:
    assert find_checkpoint(tmp_path / "checkpoints", 1) == (None, [])


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    older = write_checkpoint(tmp_path / "checkpoint-2")
    newer = write_checkpoint(tmp_path / "checkpoint-4")
    (newer / name).unlink()
    found, passed_over = find_checkpoint(tmp_path, 1)
    assert found == older
    assert passed_over == [f"{newer} is not whole and is passed over: {name} is missing"]


@pytest.mark.parametrize(("size", "shown"), [(0, "0"), (99, "99"), (101, "101")])
def test_a_file_of_another_size(tmp_path: Path, size: int, shown: str) -> None:
    folder = write_checkpoint(tmp_path / "checkpoint-4")
    (folder / "model.safetensors").write_bytes(b"w" * size)
    found, [line] = find_checkpoint(tmp_path, 1)
    assert found is None and line.endswith(f": model.safetensors has {shown} bytes of 100")


@pytest.mark.parametrize(
    "content", [None, "", "{", "null", "[]", "{}", '{"num_processes": "1"}', '{"num_processes": 1}']
)
def test_contents_that_tell_nothing(tmp_path: Path, content: str | None) -> None:
    older = write_checkpoint(tmp_path / "checkpoint-2")
    newer = write_checkpoint(tmp_path / "checkpoint-4")
    if content is None:
        (newer / CONTENTS_FILE).unlink()
    else:
        (newer / CONTENTS_FILE).write_text(content)
    found, [line] = find_checkpoint(tmp_path, 1)
    assert found == older
    assert "it has no readable contents.json, so it was cut short" in line


def test_a_folder_where_a_file_should_be(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "checkpoint-4")
    (folder / "optimizer.pt").unlink()
    (folder / "optimizer.pt").mkdir()
    assert find_checkpoint(tmp_path, 1)[0] is None


@pytest.mark.parametrize(("wrote", "has"), [(2, 1), (1, 2)])
def test_another_number_of_processes(tmp_path: Path, wrote: int, has: int) -> None:
    folder = write_checkpoint(tmp_path / "checkpoint-4", num_processes=wrote)
    with pytest.raises(ValueError) as caught:
        find_checkpoint(tmp_path, has)
    assert str(caught.value) == (
        f"{folder} was written by {wrote} processes, and this start has {has}: steps would be "
        f"made of other rows; start {wrote} processes, or choose another run_dir"
    )
    assert find_checkpoint(tmp_path, wrote)[0] == folder
