"""The rollout engine as a server: frames and token ids in, completions with log-probs out.

    python -m train.vllm_server --model runs/mine/sft/final --max-model-tokens 7008 \\
        --sync-root /shared/vllm_sync --port 8811

It runs in the environment that has vLLM and knows four requests: `GET /describe` (settings, and the
weights it needs), `POST /rollout`, `POST /load_weights` (a folder by its name under `--sync-root`,
never a path), and `POST /stop`. It has no password: the default address is this machine's only.
With `--socket PATH --with-parent` the trainer itself starts it, on a socket file of its own, and it
ends as soon as its standard input does, that is with its parent, however that ended.
"""

import argparse
import importlib.util
import json
import os
import signal
import socketserver
import sys
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from affect.model.vllm_video import prepare_environment
from train.vllm_engine import EngineSettings, VideoEngine
from train.vllm_wire import unpack

_MAX_BODY_BYTES = 4 * 2**30


class _Handler(BaseHTTPRequestHandler):
    """One request; the engine works in the main thread, so a handler only waits."""

    protocol_version = "HTTP/1.1"
    engine: VideoEngine
    sync_root: Path

    def do_GET(self) -> None:
        """The engine's description."""
        if self.path == "/describe":
            self._answer(lambda: self.engine.call(self.engine.describe))
        else:
            self._send(404, {"error": f"no such page: {self.path}"})

    def do_POST(self) -> None:
        """A rollout, a load of weights, or the end."""
        size = self.headers.get("Content-Length", "")
        if not size.isdigit() or int(size) > _MAX_BODY_BYTES:
            self.close_connection = True
            self._send(413, {"error": f"a request needs a length of up to {_MAX_BODY_BYTES} bytes"})
            return
        body = self.rfile.read(int(size))
        if self.path == "/rollout":
            self._answer(lambda: self._rollout(body))
        elif self.path == "/load_weights":
            self._answer(lambda: self._load_weights(body))
        elif self.path == "/stop":
            self._send(200, {})
            self.engine.stop()
        else:
            self._send(404, {"error": f"no such page: {self.path}"})

    def _rollout(self, body: bytes) -> dict[str, Any]:
        request, arrays = unpack(body)
        result: dict[str, Any] = self.engine.call(
            lambda: self.engine.submit(request, arrays)
        ).result()
        return result

    def _load_weights(self, body: bytes) -> dict[str, Any]:
        name = unpack(body)[0].get("name")
        if not isinstance(name, str) or Path(name).name != name:
            raise ValueError("load_weights takes the name of a folder under --sync-root")
        folder = self.sync_root / name
        if not folder.is_dir():
            raise ValueError(
                f"the engine sees no folder {folder}; trainer (rollout.vllm.sync_folder) and "
                "server (--sync-root) must name the same folder on a disk that both see"
            )
        return {"num_weights": self.engine.call(lambda: self.engine.load_weights(folder))}

    def _answer(self, work: Any) -> None:
        try:
            self._send(200, work())
        # Told to the client, who raises it; the server goes on with the next request.
        except Exception as error:  # noqa: BLE001
            status = 400 if isinstance(error, ValueError | KeyError | TypeError) else 500
            self._send(status, {"error": f"{type(error).__name__}: {error}"})

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer, allow_nan=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        """The client; on a socket file it has no address."""
        return str(self.client_address[0]) if self.client_address else "local"

    def log_message(self, format: str, *args: Any) -> None:
        """One line per request on stderr."""
        sys.stderr.write(f"{self.address_string()} {format % args}\n")


class _TcpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True


class _SocketFileServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def main(argv: list[str] | None = None) -> int:
    """Load the engine, listen, and serve until asked to stop."""
    parser = argparse.ArgumentParser(
        prog="python -m train.vllm_server", description="Serve rollouts on videos with vLLM."
    )
    parser.add_argument("--model", required=True, help="checkpoint folder, or a model id")
    parser.add_argument(
        "--sync-root", type=Path, required=True, help="where weights are handed over"
    )
    parser.add_argument("--max-model-tokens", type=int, required=True, help="prompt + completion")
    parser.add_argument("--dtype", default="bfloat16", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--memory-share", type=float, default=0.85, help="of the device's memory")
    parser.add_argument("--num-gpus", type=int, default=1, help="tensor parallel")
    parser.add_argument("--eager", action="store_true", help="no CUDA graphs, no compilation")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8811)
    parser.add_argument("--socket", type=Path, help="listen on this socket file instead")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input ends")
    given = parser.parse_args(argv)
    if importlib.util.find_spec("vllm") is None:
        sys.stderr.write(
            f"{sys.executable} has no vLLM: run `make vllm`, or name another interpreter "
            "(rollout.vllm.python, or VLLM_PYTHON for launch/vllm_server.sh)\n"
        )
        return 2
    prepare_environment(given.eager)
    if given.with_parent:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer decides when to stop
        threading.Thread(target=_end_with_input, daemon=True).start()
    # Before the engine, which takes long: an address that is taken is told at once.
    server: Any
    if given.socket:
        server = _SocketFileServer(str(given.socket), _Handler, bind_and_activate=False)
    else:
        server = _TcpServer((given.host, given.port), _Handler, bind_and_activate=False)
    try:
        server.server_bind()
    except OSError as error:
        sys.stderr.write(
            f"can't listen on {given.socket or f'{given.host}:{given.port}'}: {error}\n"
        )
        return 2
    _Handler.sync_root = given.sync_root
    _Handler.engine = VideoEngine(
        EngineSettings(
            model=given.model,
            dtype=given.dtype,
            max_model_tokens=given.max_model_tokens,
            memory_share=given.memory_share,
            eager=given.eager,
            num_gpus=given.num_gpus,
        )
    )
    server.server_activate()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: _Handler.engine.stop())
    sys.stderr.write(f"serving {given.model}\n")
    try:
        _Handler.engine.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


def _end_with_input() -> None:
    while sys.stdin.buffer.read(1):
        pass
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
