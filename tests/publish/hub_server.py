"""A model hub on this machine, over HTTP: the calls that huggingface_hub makes for a push.

It keeps what was committed, refuses what the real one refuses (a missing token, a commit of bytes
that were never uploaded, uploads that are not what was announced), and fails on demand.

Example:
    with HubServer() as hub:
        push_folder(folder, "me/model", hub.token, private=False, endpoint=hub.url)
        hub.repos["me/model"].files["README.md"]
"""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hf_SecretOfTheTests"
CREATE, YAML, PREUPLOAD, BATCH = "create", "validate-yaml", "preupload", "batch"
UPLOAD, VERIFY, COMMIT, INFO = "upload", "verify", "commit", "info"
_ROUTES = (
    (CREATE, "POST", r"/api/repos/create"),
    (YAML, "POST", r"/api/validate-yaml"),
    (PREUPLOAD, "POST", r"/api/models/(?P<repo>[^/]+/[^/]+)/preupload/main"),
    (BATCH, "POST", r"/(?P<repo>[^/]+/[^/]+)\.git/info/lfs/objects/batch"),
    (UPLOAD, "PUT", r"/upload/(?P<oid>[0-9a-f]{64})"),
    (VERIFY, "POST", r"/verify"),
    (COMMIT, "POST", r"/api/models/(?P<repo>[^/]+/[^/]+)/commit/main"),
    (INFO, "GET", r"/api/models/(?P<repo>[^/]+/[^/]+)"),
)


@dataclass
class Repo:
    """A repository's state after its last commit."""

    private: bool
    files: dict[str, bytes] = field(default_factory=dict)
    summaries: list[str] = field(default_factory=list)


class Refused(Exception):
    """An answer with an error's status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class HubServer:
    """Starts on entering, on a free port. `calls` are the calls in order; `fail` makes one fail."""

    def __init__(self) -> None:
        self.token = TOKEN
        self.repos: dict[str, Repo] = {}
        self.calls: list[str] = []
        self.fail: dict[str, int] = {}  # call -> status
        self.large: dict[str, bytes] = {}  # oid -> bytes
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "HubServer":
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def environment(self) -> dict[str, str]:
        """Variables for a process that is to push here."""
        return {
            "HF_ENDPOINT": self.url,
            "HF_TOKEN": self.token,
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",  # large files over git's plain protocol
            "NO_PROXY": "127.0.0.1",
        }

    @contextmanager
    def failing(self, call: str, status: int = 403) -> Iterator[None]:
        """Answer one kind of call with this status."""
        self.fail[call] = status
        try:
            yield
        finally:
            del self.fail[call]

    # --- calls ----------------------------------------------------------------------------------

    def answer(self, call: str, names: dict[str, str], body: bytes) -> Any:
        with self._lock:
            self.calls.append(call)
            if call in self.fail:
                raise Refused(self.fail[call], f"{call} fails on demand")
            return getattr(self, f"_{call.replace('-', '_')}")(body, **names)

    def _create(self, body: bytes) -> Any:
        asked = json.loads(body)
        repo = f"{asked['organization']}/{asked['name']}"
        if repo in self.repos:
            raise Refused(409, "You already created this model repo")
        self.repos[repo] = Repo(private=asked.get("visibility") == "private")
        return {"url": f"{self.url}/{repo}"}

    def _validate_yaml(self, body: bytes) -> Any:
        content = json.loads(body)["content"]
        if not content.startswith("---\n"):
            raise Refused(400, "no header")
        return {"warnings": [], "errors": []}

    def _preupload(self, body: bytes, repo: str) -> Any:
        self._repo(repo)
        files = []
        for file in json.loads(body)["files"]:
            mode = "lfs" if file["path"].endswith(".safetensors") else "regular"
            files.append({"path": file["path"], "uploadMode": mode, "shouldIgnore": False})
        return {"files": files}

    def _batch(self, body: bytes, repo: str) -> Any:
        self._repo(repo)
        objects = []
        for wanted in json.loads(body)["objects"]:
            oid = wanted["oid"]
            if oid in self.large:
                objects.append(wanted)
                continue
            upload = {"href": f"{self.url}/upload/{oid}"}
            actions = {"upload": upload, "verify": {"href": f"{self.url}/verify"}}
            objects.append({**wanted, "actions": actions})
        return {"transfer": "basic", "objects": objects}

    def _upload(self, body: bytes, oid: str) -> Any:
        if hashlib.sha256(body).hexdigest() != oid:
            raise Refused(400, "other bytes than announced")
        self.large[oid] = body
        return {}

    def _verify(self, body: bytes) -> Any:
        asked = json.loads(body)
        if len(self.large.get(asked["oid"], b"")) != asked["size"]:
            raise Refused(404, "not uploaded")
        return {}

    def _commit(self, body: bytes, repo: str) -> Any:
        state = self._repo(repo)
        files = dict(state.files)
        lines = [json.loads(line) for line in body.splitlines()]
        assert lines[0]["key"] == "header"
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                if value["oid"] not in self.large:
                    raise Refused(400, "a file that was not uploaded")
                files[value["path"]] = self.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
            else:
                raise Refused(400, f"unknown operation {line['key']}")
        state.files = files
        state.summaries.append(lines[0]["value"]["summary"])
        oid = hashlib.sha1(repr(sorted(files)).encode()).hexdigest()
        return {"commitUrl": f"{self.url}/{repo}/commit/{oid}", "commitOid": oid}

    def _info(self, body: bytes, repo: str) -> Any:
        state = self._repo(repo)
        siblings = [{"rfilename": name} for name in state.files]
        return {"id": repo, "modelId": repo, "private": state.private, "siblings": siblings}

    def _repo(self, repo: str) -> Repo:
        if repo not in self.repos:
            raise Refused(404, "Repository not found")
        return self.repos[repo]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body of an answer in one packet

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path = self.path.partition("?")[0]
                found = [
                    (call, match.groupdict())
                    for call, method, pattern in _ROUTES
                    if method == self.command and (match := re.fullmatch(pattern, path))
                ]
                if not found:
                    self._reply(404, {"error": f"no such call: {self.command} {path}"})
                    return
                call, names = found[0]
                # As at the real hub, the bytes of large files go to an address that needs none.
                expected = None if call == UPLOAD else f"Bearer {hub.token}"
                if expected and self.headers.get("Authorization") != expected:
                    self._reply(401, {"error": "Invalid username or password."})
                    return
                try:
                    self._reply(200, hub.answer(call, names, body))
                except Refused as refused:
                    self._reply(refused.status, {"error": str(refused)})

            do_GET = do_POST = do_PUT = _serve

            def _reply(self, status: int, value: Any) -> None:
                content = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *arguments: Any) -> None:
                """Nothing on the tests' stderr."""

        return Handler
