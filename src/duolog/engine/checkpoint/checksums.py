"""Verify the checksums that Hadoop keeps next to the files of a checkpoint.

    .N.crc    "crc" and a zero byte, bytes per checksum (4 bytes), then the CRC-32 (4 bytes) of each
              such block of N

Spark reads its logs through Hadoop's FileContext, which writes these files but never verifies them:
a flipped digit in an offset becomes the offset. A file without a checksum is accepted: HDFS
verifies its own. A checksum that a power cut left empty, truncated or filled with zeros says
nothing about the file itself, which became durable before its name.

Source: Hadoop `ChecksumFs`, `DataChecksum`.
"""

import struct
import zlib
from pathlib import Path
from typing import Final

from duolog.engine.checkpoint.durable import write_durably
from duolog.engine.checkpoint.remote.paths import RemotePath

_MAGIC: Final = b"crc\0"
_HEAD: Final = struct.Struct(">4sI")
_SUM_BYTES: Final = 4
_PIECE_BYTES: Final = 512


def matches_checksum(path: Path) -> bool:
    """Return whether a file matches its checksum; true if it has none."""
    if isinstance(path, RemotePath):
        return True
    try:
        kept = _place(path).read_bytes().rstrip(b"\0")
    except FileNotFoundError:
        return True
    if len(kept) < _HEAD.size:
        return True
    magic, piece_bytes = _HEAD.unpack_from(kept)
    if magic != _MAGIC or not piece_bytes:
        return False
    found = kept[_HEAD.size :]
    sums = _sums(path.read_bytes(), piece_bytes)
    return sums.startswith(found)


def write_with_checksum(path: Path, text: str) -> None:
    """Replace a file and its checksum; a crash leaves one of them, but never a mismatch."""
    if isinstance(path, RemotePath):
        return write_durably(path, text)
    _place(path).unlink(missing_ok=True)
    write_durably(path, text)
    content = _HEAD.pack(_MAGIC, _PIECE_BYTES) + _sums(text.encode(), _PIECE_BYTES)
    _place(path).write_bytes(content)
    return None


def _place(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


def _sums(content: bytes, piece_bytes: int) -> bytes:
    pieces = range(0, len(content), piece_bytes)
    sums = (zlib.crc32(content[at : at + piece_bytes]) for at in pieces)
    return b"".join(one.to_bytes(_SUM_BYTES, "big") for one in sums)
