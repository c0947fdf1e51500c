"""The trainer's side of a rollout engine: requests over TCP or a socket file, with a time-out.

Example:
    client = EngineClient("http://127.0.0.1:8811", timeout_seconds=600)
    client.describe()["max_model_tokens"]
    client.load_weights("step_12")
    groups = client.rollout(request, {"clip_0": frames})
"""

import http.client
import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from train.vllm_wire import Array, pack


class EngineClient:
    """One engine at `address`: http://HOST:PORT, or the path of a socket file.

    Raises:
        ValueError: every method, with the address, if the engine can't be reached, does not answer
            in time, or answers with an error.
    """

    def __init__(self, address: str | Path, timeout_seconds: float) -> None:
        self.address = address
        self.timeout_seconds = timeout_seconds
        if not isinstance(address, Path):
            parts = urlsplit(address)
            if parts.scheme != "http" or not parts.hostname or parts.path not in ("", "/"):
                raise ValueError(
                    f"rollout.vllm.server_url is {address!r}; it looks like http://HOST:PORT"
                )

    def describe(self) -> dict[str, Any]:
        """The engine's settings and the names of the weights it needs."""
        return self._ask("GET", "/describe", b"")

    def load_weights(self, name: str) -> int:
        """Let the engine take all weights from the folder `name` under its sync root."""
        return int(self._ask("POST", "/load_weights", pack({"name": name}))["num_weights"])

    def rollout(
        self, request: Mapping[str, Any], frames: Mapping[str, Array]
    ) -> list[dict[str, Any]]:
        """Groups of completions, and what the engine saw of each group's prompt."""
        groups: list[dict[str, Any]] = self._ask("POST", "/rollout", pack(request, frames))[
            "groups"
        ]
        return groups

    def stop(self) -> None:
        """Ask the engine's process to end."""
        self._ask("POST", "/stop", b"")

    def _ask(self, method: str, path: str, body: bytes) -> dict[str, Any]:
        connection = self._connection()
        try:
            connection.request(method, path, body, {"Content-Length": str(len(body))})
            response = connection.getresponse()
            text = response.read()
        except TimeoutError as error:
            raise ValueError(
                f"the rollout engine at {self.address} did not answer {path} within "
                f"{self.timeout_seconds} s; raise rollout.vllm.timeout_seconds, or see its log"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise ValueError(
                f"the rollout engine at {self.address} can't be reached ({error}); is it running? "
                "launch/vllm_server.sh starts one"
            ) from error
        finally:
            connection.close()
        try:
            answer: dict[str, Any] = json.loads(text)
        except ValueError as error:
            raise ValueError(
                f"what answers at {self.address} is no rollout engine: {text[:80]!r}"
            ) from error
        if response.status != 200:
            told = answer.get("error", text[:200]) if isinstance(answer, dict) else text[:200]
            raise ValueError(f"the rollout engine at {self.address} refused {path}: {told}")
        return answer

    def _connection(self) -> http.client.HTTPConnection:
        if isinstance(self.address, Path):
            return _SocketFileConnection(self.address, self.timeout_seconds)
        parts = urlsplit(self.address)
        assert parts.hostname is not None
        return http.client.HTTPConnection(
            parts.hostname, parts.port or 80, timeout=self.timeout_seconds
        )


class _SocketFileConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout_seconds: float) -> None:
        super().__init__("localhost", timeout=timeout_seconds)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))
