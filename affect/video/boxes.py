"""How many bytes the outer boxes of an mp4, matroska or avi file promise.

These containers begin their large parts with a length. A download that stopped half way keeps the
lengths and lacks the bytes, which no decoder reports when the cut falls between two frames.

Example: `promised_matroska_bytes("trunc50.mkv")` -> 92753, while the file has 46376.
"""

import struct
from pathlib import Path
from typing import BinaryIO

_MP4_OUTER_BOXES = frozenset(
    b"ftyp styp moov moof mdat free skip wide uuid sidx ssix mfra meta pnot emsg prft".split()
)
_MP4_BOXES_THAT_COUNT = frozenset({b"moov", b"moof", b"mdat"})
_EBML_ID = b"\x1a\x45\xdf\xa3"
_SEGMENT_ID = b"\x18\x53\x80\x67"


def promised_mp4_bytes(path: str | Path) -> int | None:
    """End of the last box that carries pictures or their index; None if no box states a length.

    Walking stops at what is no box: some writers append padding, which promises nothing.
    """
    promised = None
    with open(path, "rb") as file:
        start = 0
        while True:
            file.seek(start)
            header = file.read(16)
            if len(header) < 8 or header[4:8] not in _MP4_OUTER_BOXES:
                return promised
            length = int.from_bytes(header[:4], "big")
            if length == 1 and len(header) == 16:
                length = struct.unpack(">Q", header[8:])[0]
            if length < 8:  # 0 means "to the end of the file": no promise
                return promised
            start += length
            if header[4:8] in _MP4_BOXES_THAT_COUNT:
                promised = start


def promised_avi_bytes(path: str | Path) -> int | None:
    """End of the last RIFF chunk (files over 1 GB have several); None where none states a length,
    as in an interrupted recording."""
    promised = None
    with open(path, "rb") as file:
        start = 0
        while True:
            file.seek(start)
            header = file.read(8)
            length = int.from_bytes(header[4:], "little")
            if header[:4] != b"RIFF" or length in (0, 0xFFFFFFFF):
                return promised
            start += 8 + length
            promised = start


def promised_matroska_bytes(path: str | Path) -> int | None:
    """End of the segment; None for live recordings, whose segment has no stated length."""
    with open(path, "rb") as file:
        if file.read(4) != _EBML_ID:
            return None
        header_length = _ebml_length(file)
        if header_length is None:
            return None
        file.seek(header_length, 1)
        if file.read(4) != _SEGMENT_ID:
            return None
        segment_length = _ebml_length(file)
        return None if segment_length is None else file.tell() + segment_length


def _ebml_length(file: BinaryIO) -> int | None:
    """An EBML length: the zero bits before the first one bit of the first byte say how many bytes
    follow it; all value bits set means that the length is unknown."""
    first = file.read(1)
    if not first or first[0] == 0:
        return None
    num_more = 8 - first[0].bit_length()
    value_bits = 7 * (num_more + 1)
    value = int.from_bytes(first + file.read(num_more), "big") & ((1 << value_bits) - 1)
    return None if value == (1 << value_bits) - 1 else value
