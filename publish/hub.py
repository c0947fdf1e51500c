"""Push a finished export to a model repository of the HF hub, in one commit.

The token comes from the environment variable HF_TOKEN and from nowhere else, and is never shown. A
repository that is there is updated: weights of an earlier push that the new one has not are removed
in the same commit, since loaders prefer a single file to a numbered set. Where HF_ENDPOINT is set,
huggingface_hub talks to that server.

Example: `push_folder(Path("runs/mine/grpo/export"), "me/dar-3b", read_token(), private=True)`
"""

import fnmatch
import os
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

TOKEN_VARIABLE = "HF_TOKEN"
_WEIGHTS = ("*.safetensors", "*.safetensors.index.json", "*.bin", "*.bin.index.json")
# It is there already; or this token may not make any, but may write to that one.
_PERHAPS_THERE = {401, 402, 403, 409}


class PushFailed(Exception):
    """The export is whole, the upload is not there; the message holds no token."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """Where an export went: the repository, its address, and the commit."""

    repo_id: str
    url: str
    commit: str


def check_repo_id(repo_id: str) -> None:
    """Refuse what the hub would refuse, before hours of work.

    Raises:
        ValueError: not of the form owner/name, or characters that the hub does not take.
    """
    if repo_id.count("/") != 1:
        raise ValueError(f"{repo_id!r}: a repository is named owner/name")
    try:
        validate_repo_id(repo_id)
    except HFValidationError as error:
        raise ValueError(f"{repo_id!r}: {error}") from error


def read_token() -> str:
    """The token of the environment.

    Raises:
        ValueError: there is none.
    """
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise ValueError(
            f"a push needs a token with write access in the environment variable {TOKEN_VARIABLE}; "
            "it is read from nowhere else"
        )
    return token


def push_folder(
    folder: Path, repo_id: str, token: str, *, private: bool, endpoint: str | None = None
) -> Pushed:
    """Upload every file of a folder as one commit on the main branch.

    Args:
        private: of a repository that is made; one that is there must be private already.
        endpoint: the hub's address, for another one than huggingface_hub's own choice.

    Raises:
        PushFailed: whatever went wrong. Either the commit is there or nothing is.
    """
    api = HfApi(endpoint=endpoint, token=token)
    try:
        stale = _make_repo(api, repo_id, folder, private)
        commit = api.create_commit(
            repo_id,
            [
                *(CommitOperationDelete(path_in_repo=name, is_folder=False) for name in stale),
                *(CommitOperationAdd(name, folder / name) for name in _names(folder)),
            ],
            commit_message="Export of a trained model with its card",
        )
    except Exception as error:  # noqa: BLE001 - of several libraries; each ends as a failed push
        # Without the chain: a traceback of a request could show its headers.
        raise PushFailed(_told(error).replace(token, "***")) from None
    return Pushed(repo_id, f"{api.endpoint}/{repo_id}", commit.oid)


def _make_repo(api: HfApi, repo_id: str, folder: Path, private: bool) -> list[str]:
    """Weights of an earlier push that would be left beside the new ones."""
    try:
        api.create_repo(repo_id, private=private)
        return []
    except HfHubHTTPError as error:
        if error.response.status_code not in _PERHAPS_THERE:
            raise
        try:
            info = api.model_info(repo_id)
        except HfHubHTTPError:
            raise error from None
    if private and not info.private:
        raise ValueError(
            f"{repo_id} is there already and is public; make it private, or push elsewhere"
        )
    there = [file.rfilename for file in info.siblings or []]
    old = (name for name in there if any(fnmatch.fnmatch(name, kind) for kind in _WEIGHTS))
    return sorted(set(old) - set(_names(folder)))


def _told(error: BaseException) -> str:
    """What happened and, where a library wrapped it, what really did."""
    text = f"{type(error).__name__}: {error}".strip()
    return text if error.__cause__ is None else f"{text} ({_told(error.__cause__)})"


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())
