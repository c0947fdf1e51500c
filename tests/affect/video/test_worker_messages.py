"""Messages arrive whole or not at all, within their time, and nonsense is told from them.

send(ours, ("a.mp4", 1.5)); receive(theirs) == ("a.mp4", 1.5)
"""

import socket
import struct
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from affect.video import SampledVideo
from affect.video.worker_messages import GarbledMessageError, receive, send

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def soon() -> float:
    return time.monotonic() + 5.0


def test_values_come_one_after_another(pair: Pair) -> None:
    ours, theirs = pair
    for value in (("a.mp4", 1.5, None), "ready", []):
        send(ours, value)
    assert [receive(theirs, soon()) for _ in range(3)] == [("a.mp4", 1.5, None), "ready", []]


def test_a_clip_larger_than_any_socket_buffer(pair: Pair) -> None:
    ours, theirs = pair
    frames = np.random.default_rng(0).integers(0, 256, (4, 700, 700, 3), dtype=np.uint8)
    clip = SampledVideo(frames, (0.0, 0.5), 1.0, 4, 4.0, 0.5)
    thread = threading.Thread(target=send, args=(ours, clip))
    thread.start()
    found = receive(theirs, soon())
    thread.join()
    assert np.array_equal(found.frames, frames)
    assert found.frames.flags.writeable


def test_what_does_not_travel_leaves_the_channel_clean(pair: Pair) -> None:
    ours, theirs = pair
    with pytest.raises(TypeError):
        send(ours, ("a.mp4", object()))
    send(ours, 7)
    assert receive(theirs, soon()) == 7


def test_silence_ends_at_the_deadline(pair: Pair) -> None:
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        receive(pair[1], begin + 0.2)
    assert 0.19 < time.monotonic() - begin < 3.0
    with pytest.raises(TimeoutError):
        receive(pair[1], begin - 1.0)


def test_what_has_arrived_is_taken_past_the_deadline(pair: Pair) -> None:
    """The machine may have slept."""
    send(pair[0], "late")
    assert receive(pair[1], time.monotonic() - 100.0) == "late"


@pytest.mark.parametrize("sent", [b"", b"\0" * 5, struct.pack("<QQ", 0, 10) + b"half"])
def test_the_end_of_the_other_side(pair: Pair, sent: bytes) -> None:
    ours, theirs = pair
    ours.sendall(sent)
    ours.close()
    with pytest.raises(EOFError):
        receive(theirs, soon())


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff" * 64,  # so many buffers
        struct.pack("<QQ", 0, 2**64 - 1),  # so long a text
        struct.pack("<QQQ", 1, 4, 2**50),  # so many pixels
        struct.pack("<QQ", 0, 4) + b"nope",
        struct.pack("<QQ", 0, 2) + b"\xff\xfe",
        struct.pack("<QQ", 0, 7) + b'{"a":{}',
        struct.pack("<QQ", 0, 13) + b'{"pixels":[]}',
        struct.pack("<QQ", 0, 18) + b'{"os.system":"ls"}',
        struct.pack("<QQ", 0, 100_000) + b"[" * 100_000,
    ],
)
def test_nonsense(pair: Pair, sent: bytes) -> None:
    ours, theirs = pair
    thread = threading.Thread(target=ours.sendall, args=(sent,))
    thread.start()
    with pytest.raises(GarbledMessageError):
        receive(theirs, soon())
    thread.join()
