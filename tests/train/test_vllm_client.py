"""The engine's client: every way of not being answered is a ValueError that names the address."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from train.vllm_client import EngineClient


class _Strange(BaseHTTPRequestHandler):
    """Another web server, such as one that happens to have the port."""

    def do_GET(self) -> None:
        body = b"<html>hello</html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def strange() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Strange)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("url", ["127.0.0.1:8811", "https://a:1", "http://", "http://a/b", ""])
def test_an_address_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"server_url is .*http://HOST:PORT"):
        EngineClient(url, 1)


def test_no_server() -> None:
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ValueError, match=f"{url} can't be reached.*vllm_server.sh"):
            EngineClient(url, 5).describe()


def test_no_socket_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"socket can't be reached"):
        EngineClient(tmp_path / "socket", 5).describe()


def test_a_server_that_does_not_answer_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ValueError, match=rf"{url} did not answer /describe within 0.2 s"):
            EngineClient(url, 0.2).describe()


def test_another_server(strange: str) -> None:
    with pytest.raises(ValueError, match="is no rollout engine: b'<html>"):
        EngineClient(strange, 5).describe()
    with pytest.raises(ValueError, match="is no rollout engine"):
        EngineClient(strange, 5).load_weights("sync_000000")
