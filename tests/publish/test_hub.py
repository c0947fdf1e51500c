"""A push: one commit with every file, private where asked, no token anywhere, nothing half done."""

import logging
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest

from publish.hub import PushFailed, check_repo_id, push_folder, read_token
from tests.publish import hub_server
from tests.publish.hub_server import TOKEN, HubServer

REPO = "me/dar-tiny"
FILES = {
    "README.md": b"---\nlicense: other\n---\n# me\n",
    "config.json": b"{}",
    "model-00001-of-00002.safetensors": b"one" * 50_000,
    "model-00002-of-00002.safetensors": b"two" * 50_000,
    "model.safetensors.index.json": b"{}",
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    # Read from the environment when huggingface_hub was imported; the tests' own is offline.
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    with HubServer() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "export", FILES)


def write(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def push(hub: HubServer, folder: Path, *, private: bool = False, token: str = TOKEN) -> str:
    return push_folder(folder, REPO, token, private=private, endpoint=hub.url).commit


def test_every_file_arrives_in_one_commit(hub: HubServer, folder: Path) -> None:
    pushed = push_folder(folder, REPO, TOKEN, private=False, endpoint=hub.url)
    repo = hub.repos[REPO]
    assert repo.files == FILES and not repo.private
    assert repo.summaries == ["Export of a trained model with its card"]
    assert pushed.url == f"{hub.url}/{REPO}" and len(pushed.commit) == 40
    assert sorted(hub.calls) == sorted(
        [
            *(hub_server.CREATE, hub_server.YAML, hub_server.PREUPLOAD, hub_server.BATCH),
            *[hub_server.UPLOAD, hub_server.VERIFY] * 2,
            hub_server.COMMIT,
        ]
    )
    assert hub.calls[-1] == hub_server.COMMIT


def test_a_private_one(hub: HubServer, folder: Path) -> None:
    push(hub, folder, private=True)
    assert hub.repos[REPO].private


def test_a_public_repository_is_no_place_for_a_private_model(hub: HubServer, folder: Path) -> None:
    push(hub, folder)
    before = list(hub.repos[REPO].summaries)
    with pytest.raises(PushFailed, match="is there already and is public"):
        push(hub, folder, private=True)
    assert hub.repos[REPO].summaries == before


def test_weights_of_an_earlier_push_go(hub: HubServer, tmp_path: Path, folder: Path) -> None:
    """A loader that finds model.safetensors does not look at an index."""
    single = {"README.md": FILES["README.md"], "model.safetensors": b"whole" * 1000}
    push(hub, write(tmp_path / "single", single))
    hub.repos[REPO].files["notes.txt"] = b"somebody's"
    push(hub, folder)
    assert hub.repos[REPO].files == {**FILES, "notes.txt": b"somebody's"}
    push(hub, tmp_path / "single")
    kept = {"config.json": b"{}", "notes.txt": b"somebody's"}
    assert hub.repos[REPO].files == {**single, **kept}
    assert len(hub.repos[REPO].summaries) == 3


def test_large_files_are_uploaded_once(hub: HubServer, folder: Path) -> None:
    push(hub, folder)
    hub.calls.clear()
    (folder / "README.md").write_bytes(b"---\nlicense: mit\n---\n")
    push(hub, folder)
    assert hub_server.UPLOAD not in hub.calls
    assert hub.repos[REPO].files["README.md"] == b"---\nlicense: mit\n---\n"


@pytest.mark.parametrize(
    "call",
    [
        *(hub_server.CREATE, hub_server.YAML, hub_server.PREUPLOAD, hub_server.BATCH),
        *(hub_server.UPLOAD, hub_server.VERIFY, hub_server.COMMIT),
    ],
)
def test_a_push_that_fails_commits_nothing_and_can_be_done_again(
    hub: HubServer, folder: Path, call: str
) -> None:
    with hub.failing(call), pytest.raises(PushFailed) as caught:
        push(hub, folder)
    assert TOKEN not in str(caught.value) and str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert hub.repos.get(REPO) is None or hub.repos[REPO].files == {}
    push(hub, folder)
    assert hub.repos[REPO].files == FILES


def test_a_token_that_may_only_write(hub: HubServer, folder: Path) -> None:
    """Tokens can be made for one repository; they may not create any."""
    push(hub, folder)
    (folder / "config.json").write_bytes(b'{"new": 1}')
    with hub.failing(hub_server.CREATE, 403):
        push(hub, folder)
    assert hub.repos[REPO].files["config.json"] == b'{"new": 1}'


def test_what_really_happened_is_told(hub: HubServer, folder: Path) -> None:
    with (
        hub.failing(hub_server.VERIFY),
        pytest.raises(PushFailed, match=r"Error while uploading.*403"),
    ):
        push(hub, folder)


def test_a_wrong_token(hub: HubServer, folder: Path) -> None:
    with pytest.raises(PushFailed, match="401") as caught:
        push(hub, folder, token="hf_AnotherSecret")
    assert "hf_AnotherSecret" not in str(caught.value)


def test_nobody_listens(hub: HubServer, folder: Path) -> None:
    hub.__exit__()
    with pytest.raises(PushFailed, match="ConnectError"):
        push(hub, folder)


def test_the_network_is_off(hub: HubServer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(PushFailed, match="HF_HUB_OFFLINE"):
        push(hub, folder)
    assert hub.calls == []


def test_the_token_is_not_logged(
    hub: HubServer,
    folder: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name in ("huggingface_hub", "httpx2", "httpcore2", ""):
        caplog.set_level(logging.DEBUG, name)
    push(hub, folder)
    with hub.failing(hub_server.COMMIT), pytest.raises(PushFailed):
        push(hub, folder)
    printed = capfd.readouterr()
    assert caplog.text and TOKEN not in caplog.text + printed.out + printed.err


def test_the_token_comes_from_one_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("HUGGING_FACE_HUB_TOKEN", "hf_Old")
    with pytest.raises(ValueError, match="HF_TOKEN"):
        read_token()
    monkeypatch.setenv("HF_TOKEN", " \n")
    with pytest.raises(ValueError, match="HF_TOKEN"):
        read_token()
    monkeypatch.setenv("HF_TOKEN", f"{TOKEN}\n")
    assert read_token() == TOKEN


@pytest.mark.parametrize(
    "repo_id", ["dar", "a/b/c", "", "/", "me/", "me/a b", "me/a--b", "me/../x", "me/x.git", "me/ä"]
)
def test_names_that_no_hub_takes(repo_id: str) -> None:
    with pytest.raises(ValueError):
        check_repo_id(repo_id)


def test_names_that_a_hub_takes() -> None:
    check_repo_id("me/dar-3b_v1.0")
