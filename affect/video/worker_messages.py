"""Whole values over a socket between a process and its decode worker, within a time.

A message is a count, so many lengths, a JSON text and its buffers: the pixels of a clip go from
the one's memory into the other's without a copy in between.

Example:
    send(ours, {"function": "affect.video.probe:probe_video", "arguments": ("a.mp4",)})
    receive(ours, deadline_seconds=time.monotonic() + 120.0)
"""

import json
import socket
import struct
import time
from typing import Any

from affect.video.portable import from_portable, to_portable

_LENGTH = struct.Struct("<Q")
_MOST_BUFFERS = 64
_MOST_BYTES = 2**36
"""No clip has so many; a decoder gone wild may say so."""

_NO_VALUE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading a message raises that no worker wrote."""


class GarbledMessageError(Exception):
    """The other end writes what no worker writes."""


def send(channel: socket.socket, value: Any) -> None:
    """Write one value; blocks until the other end has taken nearly all of it.

    Raises TypeError, before anything is written, for a type that does not travel.
    """
    buffers: list[memoryview] = []
    text = json.dumps(to_portable(value, buffers)).encode()
    lengths = [len(buffers), len(text), *(one.nbytes for one in buffers)]
    channel.sendall(b"".join(map(_LENGTH.pack, lengths)) + text)
    for one in buffers:
        channel.sendall(one)


def receive(channel: socket.socket, deadline_seconds: float | None = None) -> Any:
    """Read one value.

    deadline_seconds: on the clock of `time.monotonic`; None waits as long as it takes.

    Raises EOFError when the other end is gone, TimeoutError past the deadline, and
    GarbledMessageError for bytes that are no message.
    """
    num_buffers = _length(channel, _MOST_BUFFERS, deadline_seconds)
    lengths = [_length(channel, _MOST_BYTES, deadline_seconds) for _ in range(num_buffers + 1)]
    text, *buffers = [_bytes(channel, length, deadline_seconds) for length in lengths]
    try:
        return from_portable(json.loads(text), buffers)
    except _NO_VALUE as error:
        raise GarbledMessageError(str(error)) from error


def _length(channel: socket.socket, most: int, deadline_seconds: float | None) -> int:
    length: int = _LENGTH.unpack(_bytes(channel, _LENGTH.size, deadline_seconds))[0]
    if length > most:
        raise GarbledMessageError(f"{length} bytes or buffers")
    return length


def _bytes(channel: socket.socket, length: int, deadline_seconds: float | None) -> bytearray:
    data = bytearray(length)
    view, num_read = memoryview(data), 0
    while num_read < length:
        if deadline_seconds is not None:
            # Not 0, which would mean "do not wait" to the socket: at the deadline what has
            # arrived is still taken.
            channel.settimeout(max(deadline_seconds - time.monotonic(), 0.001))
        try:
            num_now = channel.recv_into(view[num_read:])
        except ConnectionError as error:
            raise EOFError(str(error)) from error
        if num_now == 0:
            raise EOFError("the other end is gone")
        num_read += num_now
    return data
